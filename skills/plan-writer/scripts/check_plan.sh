#!/bin/sh
# Checks plans, goals and gates with wf, and counts what is wrong.
# Exit codes: 0 no mistakes (or --report-only), 1 mistakes, 2 cannot be done.
set -eu

refuse() {
    printf 'check_plan: %s\n' "$1" >&2
    printf 'remedy: %s\n' "$2" >&2
    exit 2
}

# Where the results go.
results() {
    if [ -n "${WF_OUTPUT:-}" ]; then cat >>"$WF_OUTPUT"; else cat; fi
}

report_only=''
count=$#
while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    case $word in
        --file=?*)
            word=${word#*=}
            # No path is taken for an option.
            case $word in
                /*) ;;
                *) word=./$word ;;
            esac
            [ -e "$word" ] || refuse "there is no such file: $word" "name it relative to where this runs"
            set -- "$@" "$word"
            ;;
        --report-only) report_only=yes ;;
        *) refuse "unknown argument: $word" "a flag and its value are one word: --file=PLAN.md" ;;
    esac
done
[ $# -gt 0 ] || refuse "nothing is to be checked" "give --file=PLAN.md, once for each"

wf=${WF:-wf}
command -v "$wf" >/dev/null 2>&1 ||
    refuse "the program $wf is not there" "put wf on PATH, or name it: WF=/path/to/wf"

work=$(mktemp -d "${TMPDIR:-/tmp}/check_plan.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

code=0
"$wf" check --json "$@" >"$work/told" 2>"$work/why" </dev/null || code=$?
number() {
    sed -n "s/^  \"$1\": \([0-9][0-9]*\),\{0,1\}\$/\1/p" "$work/told"
}
files=$(number files) errors=$(number errors) warnings=$(number warnings)
if [ -z "$errors" ] || [ -z "$warnings" ]; then
    refuse "wf gave no answer (exit code $code): $(head -n 1 "$work/why")" "try it by hand: $wf check --json"
fi
[ "${files:-0}" != 0 ] || refuse "there is no plan in what was named" "name a file that begins with ---"
cat "$work/told"
{
    echo "errors=$errors"
    echo "warnings=$warnings"
} | results
if [ "$errors" != 0 ] && [ -z "$report_only" ]; then
    echo "check_plan: mistakes: $errors, each with its remedy above" >&2
    exit 1
fi
