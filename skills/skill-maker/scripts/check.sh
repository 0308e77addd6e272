#!/bin/sh
# Checks skills with wf.
# Exit codes: 0 all are as they must be, 1 one is not, 2 cannot be done.
set -eu

refuse() {
    printf 'check: %s\n' "$1" >&2
    printf 'remedy: %s\n' "$2" >&2
    exit 2
}

# Where the results go.
results() {
    if [ -n "${WF_OUTPUT:-}" ]; then cat >>"$WF_OUTPUT"; else cat; fi
}

count=$#
while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    case $word in
        --folder=?*)
            word=${word#*=}
            # No path is taken for an option.
            case $word in
                /*) ;;
                *) word=./$word ;;
            esac
            [ -d "$word" ] || refuse "there is no such folder: $word" "name it relative to where this runs"
            [ -f "$word/SKILL.md" ] || refuse "there is no SKILL.md in it: $word" "name the folder of one skill"
            set -- "$@" "$word"
            ;;
        *) refuse "unknown argument: $word" "a flag and its value are one word: --folder=skills/NAME" ;;
    esac
done
[ $# -gt 0 ] || refuse "no skill is named" "give --folder=skills/NAME, once for each"

wf=${WF:-wf}
command -v "$wf" >/dev/null 2>&1 ||
    refuse "the program $wf is not there" "put wf on PATH, or name it: WF=/path/to/wf"
"$wf" skill validate --help >/dev/null 2>&1 ||
    refuse "this wf cannot check skills" "use one that has the command: wf skill validate"

bad=0
for folder do
    if ! "$wf" skill validate "$folder"; then
        echo "check: $folder is not as it must be" >&2
        bad=$((bad + 1))
    fi
done
if [ "$bad" -gt 0 ]; then
    printf 'remedy: mend what is named above, then check again\n' >&2
    exit 1
fi
echo "skills=$#" | results
