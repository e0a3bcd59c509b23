#!/bin/sh
# An agent in a few lines: it takes requests, asks before the risky part, answers.
set -eu
mosaic claim
for request in $(mosaic receive --wait 60s --get 'messages.*.id'); do
	mosaic read "$request"
	decision=$(mosaic raise deploy --target notes --question 'Publish the notes?' \
		--option yes='Publish them' --option no='Not yet' --recommend yes --get id)
	if mosaic wait "$decision"; then
		mosaic send human 'The notes are out.' --reply-to "$request"
	else
		mosaic send human 'I left the notes alone.' --reply-to "$request"
	fi
done
