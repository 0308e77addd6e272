"""Reads what is to be compressed."""

import json
import os

import archive
import brief

target = os.environ["TARGET"]
if target == "all_results":
    names = sorted(name for name in os.listdir("session/results") if name.endswith(".md"))
    text = "\n\n".join(f"--- {name} ---\n{archive.read(os.path.join('session/results', name))}" for name in names)
else:
    text = brief.resolve(target)
with open(os.environ["WF_OUTPUT"], "a", encoding="utf-8") as outputs:
    print(json.dumps({"text": text}), file=outputs)
