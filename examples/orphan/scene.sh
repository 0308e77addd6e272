#!/usr/bin/env bash
# An engine is killed in the middle of a step, and started again: who writes?
#
#   examples/orphan/scene.sh            with the wf in PATH, or the one that $WF names
#
# Where snakemake is installed, it plays the same scene for comparison.
set -euo pipefail
plan=$(cd "$(dirname "$0")" && pwd)/plan.md
wf=${WF:-wf}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
cd "$stage"

writers() { cut -d" " -f1 "$1" | sort | uniq -c | sed 's/^ */  /; s/\([0-9]*\) \([0-9]*\)$/\1 lines by process \2/'; }
begun() { until [ -s "$1" ]; do sleep 0.01; done; }

echo "wf, killed three times in the middle of the step:"
mkdir wf && cd wf && touch wf.yaml && cp "$plan" plan.md
written=target/examples/orphan/written.txt
"$wf" run --quiet plan.md &
for _ in 1 2 3; do
  begun "$written"
  lines=$(wc -l < "$written")
  until [ "$(wc -l < "$written")" -gt $((lines + 2)) ]; do sleep 0.01; done
  kill -9 $! && { wait $! 2>/dev/null || true; }
  "$wf" resume --quiet --last &
done
wait $!
writers "$written"
[ "$(cut -d" " -f1 "$written" | sort -u | wc -l)" = 1 ] || { echo "more than one writer"; exit 1; }
cd ..

if command -v snakemake >/dev/null; then
  echo "snakemake, killed once:"
  mkdir snakemake && cd snakemake
  cat > Snakefile <<'RULE'
rule write:
    output: "written.txt"
    shell: 'for line in $(seq 20); do echo "$$ $line" >> {output}; sleep 0.3; done'
RULE
  snakemake written.txt --cores 1 --quiet all >/dev/null 2>&1 &
  begun written.txt
  kill -9 $! && { wait $! 2>/dev/null || true; }
  snakemake written.txt --cores 1 --quiet all --unlock >/dev/null 2>&1 || true
  snakemake written.txt --cores 1 --quiet all --rerun-incomplete >/dev/null 2>&1 || true
  writers written.txt
else
  echo "snakemake is not installed, so its scene is left out"
fi
