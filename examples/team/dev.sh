#!/bin/sh
# The developer of the demo team: takes an assignment, fixes the failing test,
# has the fix reviewed, asks for the approval to merge, and lands it.
#
# It runs in its own clone of the project, started by `mosaic launch dev`. All
# that makes it a member of the team is the mosaic command: whatever it does
# there is done as the role of this run.
set -eu

step() { echo "== $*"; }

# await CLASS waits for the next message of that class and prints its id.
# Other messages are marked read and passed over.
await() {
    found=
    while [ -z "$found" ]; do
        ids=$(mosaic receive --wait 60s --get 'messages.*.id')
        for id in $ids; do
            class=$(mosaic read "$id" --get message.class)
            if [ "$class" = "$1" ]; then found=$id; fi
        done
    done
    echo "$found"
}

mosaic claim

assignment=$(await ASSIGNMENT)
step "assigned: $(mosaic read "$assignment" --get message.body)"

step "running the tests"
if go test ./...; then
    mosaic send human "The tests pass already; there is nothing to fix." --class RESULT --reply-to "$assignment"
    mosaic release
    exit 0
fi

step "fixing the code"
git switch --quiet --create fix-mean
sed -i 's|return total / float64(len(values) - 1)|return total / float64(len(values))|' mean.go
go test ./...
git commit --quiet --all --message "mean: divide by the number of values" \
    --message "The sum was divided by one less than the number of values."
git push --quiet origin fix-mean
commit=$(git rev-parse HEAD)

step "asking rev to review $commit"
mosaic send rev "Please review fix-mean at commit $commit" --class REVIEW-REQUEST
result=$(await REVIEW-RESULT)
verdict=$(mosaic read "$result" --get message.body)
step "rev says: $verdict"
case $verdict in
approve*) ;;
*)
    mosaic send human "The review did not approve: $verdict" --class RESULT --reply-to "$assignment"
    mosaic release
    exit 1
    ;;
esac

step "asking for the approval to merge"
decision=$(mosaic raise git.merge.protected --target "web/main@$commit" --task queue:1 --blocking \
    --question "rev approved $commit and its tests pass. Merge it into main?" \
    --option yes="Move main to the fix" --option no="Leave main as it is" \
    --recommend yes --get id)
mosaic send rev "Asked for the approval to merge" --class INFO --reply-to "$result" --decision "$decision"

if ! mosaic wait "$decision" --timeout 30m; then
    mosaic send human "Not merged; main is as it was." --class RESULT --reply-to "$assignment" --decision "$decision"
    mosaic release
    exit 0
fi

step "landing"
mosaic land --project web --branch main --commit "$commit" --decision "$decision" --task queue:1

step "landing one more commit with the same approval, which is for the other one alone"
git commit --quiet --allow-empty --message "mean: a change that nobody approved"
git push --quiet origin fix-mean
if mosaic land --project web --branch main --commit "$(git rev-parse HEAD)" --decision "$decision" --task queue:1; then
    echo "an approval was used for something else"
    exit 1
fi

mosaic send human "main is fixed: $commit" --class RESULT --reply-to "$assignment" --decision "$decision"
mosaic release
