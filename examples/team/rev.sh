#!/bin/sh
# The reviewer of the demo team: checks out the commit that it is asked about
# in a clone of its own, runs the tests there, and says what it found. It
# leaves when it is told that the author goes on.
set -eu

step() { echo "== $*"; }

# review ID reviews the commit that the message asks about, and answers it.
review() {
    body=$(mosaic read "$1" --get message.body)
    commit=${body##* }
    step "reviewing $commit"
    git fetch --quiet origin
    git checkout --quiet --detach "$commit"
    git log -1 --format='%h %s' --stat
    if go test ./...; then
        verdict="approve: the tests pass at $commit"
    else
        verdict="reject: the tests fail at $commit"
    fi
    mosaic send dev "$verdict" --class REVIEW-RESULT --reply-to "$1"
}

mosaic claim

done=no
while [ "$done" = no ]; do
    ids=$(mosaic receive --wait 60s --get 'messages.*.id')
    for id in $ids; do
        class=$(mosaic read "$id" --get message.class)
        case $class in
        REVIEW-REQUEST) review "$id" ;;
        INFO) done=yes ;;
        esac
    done
done
mosaic release
