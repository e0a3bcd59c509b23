#!/bin/sh
# An agent in a few lines: it takes requests, asks before the risky part, answers.
# It serves one after the other until it is stopped (mosaic stop RUN).
set -eu
mosaic claim
while requests=$(mosaic receive --wait 60s --get 'messages.*.id'); do
	for request in $requests; do
		# The answers to its own decisions arrive as messages too.
		[ "$(mosaic read "$request" --get message.class)" = DECISION ] && continue
		decision=$(mosaic raise deploy --target notes --question 'Publish the notes?' \
			--option yes='Publish them' --option no='Not yet' --recommend yes --get id)
		if mosaic wait "$decision"; then
			mosaic send human 'The notes are out.' --reply-to "$request"
		else
			mosaic send human 'I left the notes alone.' --reply-to "$request"
		fi
	done
done
