#!/bin/sh
# Records anew what the published reference validator says about tests/skills/inputs.json and
# seeded mutants of it, and compares. Needs python3 with venv and pip, and a package index; where
# they cannot be had, it says so and fails.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=$root/target/skills-ref
if ! command -v python3 >/dev/null; then
    echo "differential.sh: there is no python3, so nothing was compared" >&2
    exit 1
fi
if ! "$venv/bin/python" -c 'import skills_ref' 2>/dev/null; then
    python3 -m venv "$venv" && "$venv/bin/pip" install --quiet skills-ref==0.1.1 strictyaml==1.7.3 || {
        echo "differential.sh: skills-ref 0.1.1 cannot be installed, so nothing was compared" >&2
        exit 1
    }
fi
"$venv/bin/python" "$here/differential.py" "$here"
cd "$root"
cargo test --locked --test it -- skills::recorded
