#!/bin/sh
# Runs the plan again with the recorded replies: no model is called, no key and no network are needed. It fails if the plan,
# its checks or its tools do not do any more what they did. Exit code 5: the run waits for the approval of the changes,
# which CI does not give.
set -u
cd "$(dirname "$0")" || exit
wf check plan.md || exit
wf run plan.md --replay tape
code=$?
[ "$code" -eq 5 ] && exit 0
echo "expected exit code 5 (it waits for an approval), found $code" >&2
exit 1
