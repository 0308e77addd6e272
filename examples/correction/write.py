"""Writes a page, and mends what its checks found wrong. Usage: write.py PAGE.

It stands for whoever does the work and can be corrected: a generator with options, a model, a
person. What these do with judgement, it does by a table, two things at a time.
"""

import json
import os
import pathlib
import sys

# What makes each criterion hold, in the order in which the lines stand in the page.
REMEDIES = {
    "doctype": "<!doctype html>",
    "language": '<html lang="en">',
    "charset": '<meta charset="utf-8">',
    "title": "<title>Prices</title>",
    "dated": "<p>As of <time>2026-11-21</time>:",
}
ORDER = list(REMEDIES.values())

page = pathlib.Path(sys.argv[1])
told = os.environ.get("WF_CORRECTION_FILE")
if told is None:
    page.parent.mkdir(parents=True, exist_ok=True)
    lines = ["<p>Flour is 1.20, salt is 0.40."]
else:
    correction = json.loads(pathlib.Path(told).read_text())
    print(correction["what_to_do"])
    lines = page.read_text().splitlines()
    if correction.get("failure_class") == "logical":
        # The approach has to change. After an environmental failure it need not.
        lines += [REMEDIES[unmet["criterion"]] for unmet in correction["failed"][:2]]
lines.sort(key=lambda line: ORDER.index(line) if line in ORDER else len(ORDER))
page.write_text("\n".join(lines) + "\n")
