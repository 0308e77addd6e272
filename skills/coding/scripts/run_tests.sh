#!/bin/sh
# Finds out how a project is tested, tests it, and says how that went.
# Exit codes: 0 passed (or --report-only), 1 failed, 2 cannot be done.
set -eu
unset CDPATH

refuse() {
    printf 'run_tests: %s\n' "$1" >&2
    printf 'remedy: %s\n' "$2" >&2
    exit 2
}

# Where the results go.
results() {
    if [ -n "${WF_OUTPUT:-}" ]; then cat >>"$WF_OUTPUT"; else cat; fi
}

# A path that no command takes for an option.
plain() {
    case $1 in
        /*) printf '%s' "$1" ;;
        *) printf './%s' "$1" ;;
    esac
}

path=. kind=auto log='' tail=200 report_only=''
count=$#
while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    case $word in
        --path=*) path=${word#*=} ;;
        --kind=*) kind=${word#*=} ;;
        --command=*) set -- "$@" "${word#*=}" ;;
        --log=*) log=${word#*=} ;;
        --tail=*) tail=${word#*=} ;;
        --report-only) report_only=yes ;;
        *) refuse "unknown argument: $word" "see SKILL.md; a flag and its value are one word: --path=VALUE" ;;
    esac
done
# What is left is the command, word by word.
[ -n "$path" ] || refuse "--path is empty" "name the project's folder"
case $tail in
    '' | 0* | *[!0-9]* | ??????*) refuse "--tail is not a number of lines: $tail" "give one from 1 to 10000" ;;
esac
if [ $# -gt 0 ] && [ -z "$1" ]; then
    refuse "--command names no program" "leave it out, or give the program first and then its arguments"
fi

here=$(pwd)
case $log in
    '' | /*) ;;
    *) log=$here/$log ;;
esac
cd -- "$(plain "$path")" 2>/dev/null ||
    refuse "there is no folder to go to: $path" "give --path as a folder, relative to where this runs"

makefile() {
    for file in GNUmakefile makefile Makefile; do
        if [ -f "$file" ]; then
            grep -q '^test[[:space:]]*:' "$file"
            return
        fi
    done
    return 1
}

python_project() {
    for file in pyproject.toml pytest.ini tox.ini setup.cfg setup.py test_*.py tests/test_*.py; do
        [ -f "$file" ] && return 0
    done
    return 1
}

find_kind() {
    if [ -f Cargo.toml ]; then
        echo cargo
    elif [ -f package.json ] && grep -q '"test"[[:space:]]*:' package.json; then
        echo npm
    elif python_project; then
        if python3 -B -c 'import pytest' 2>/dev/null; then echo pytest; else echo unittest; fi
    elif [ -f go.mod ]; then
        echo go
    elif makefile; then
        echo make
    else
        echo none
    fi
}

if [ $# -gt 0 ]; then
    kind=command
elif [ "$kind" = auto ]; then
    kind=$(find_kind)
fi

case $kind in
    cargo | npm | go | make) program=$kind ;;
    pytest | unittest) program=python3 ;;
    command) program=$1 ;;
    none) refuse "nothing here says how it is tested: $path" "give --command, or --path of a folder with Cargo.toml, package.json, pyproject.toml, go.mod or a makefile with the target test" ;;
    *) refuse "unknown --kind: $kind" "use auto, cargo, npm, pytest, unittest, go or make" ;;
esac
command -v "$program" >/dev/null 2>&1 ||
    refuse "the program $program is not there" "install it, or let the sandbox see it: sandbox.read in wf.yaml"

work=$(mktemp -d "${TMPDIR:-/tmp}/run_tests.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

test_it() {
    # What is tested does not speak for the step.
    unset WF_OUTPUT
    export PYTHONDONTWRITEBYTECODE=1
    case $kind in
        cargo)
            if ! mkdir -p target 2>/dev/null; then
                export CARGO_TARGET_DIR="$work/target"
            fi
            cargo test --offline
            ;;
        npm) npm test --silent ;;
        pytest) python3 -m pytest -q -p no:cacheprovider ;;
        unittest) python3 -m unittest discover ;;
        go) go test ./... ;;
        make) make test ;;
        command) "$@" ;;
    esac
}

code=0
(test_it "$@") >"$work/log" 2>&1 </dev/null || code=$?
# Before Python 3.12 no tests at all were a pass.
if [ "$kind" = unittest ] && [ "$code" = 0 ] && grep -q '^Ran 0 tests' "$work/log"; then
    echo 'no tests were found' >>"$work/log"
    code=5
fi

tail -n "$tail" "$work/log" >"$work/tail"
cat "$work/tail"
if [ -n "$log" ]; then
    folder=${log%/*}
    mkdir -p -- "$folder" 2>/dev/null && cp -- "$work/tail" "$log.new" 2>/dev/null && mv -f -- "$log.new" "$log" ||
        refuse "the log cannot be written: $log" "give --log below a folder that the step may write, as target/tests.log"
fi

passed=false
[ "$code" != 0 ] || passed=true
{
    echo "passed=$passed"
    echo "exit_code=$code"
    echo "kind=$kind"
} | results
if [ "$passed" = false ]; then
    echo "run_tests: the tests failed with exit code $code ($kind)" >&2
    [ -n "$report_only" ] || exit 1
fi
