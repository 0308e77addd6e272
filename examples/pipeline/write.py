"""Writes a function, and mends what was found wrong with it. Usage: write.py FILE.

It stands for whoever does the work and can be corrected: a generator, a model, a person. It knows
what to replace for each check that does not hold, and is not careful when it does so.
"""

import json
import os
import pathlib
import sys

DRAFT = """\
def mean(numbers):
    total=0
    for number in numbers:
        total += number
    return total // len(numbers)
"""

# What is replaced by what to make each check hold.
REMEDIES = {
    "documented": [("(numbers):\n", '(numbers):\n    """The mean of numbers; 0 of none."""\n')],
    "spaced": [("total=0", "total = 0"), ("numbers==[]", "numbers == []")],
    "exact": [("//", "/")],
    "empty": [("    return total", "    if numbers==[]:\n        return 0\n    return total")],
}

target = pathlib.Path(sys.argv[1])
told = os.environ.get("WF_CORRECTION_FILE")
if told is None:
    target.parent.mkdir(parents=True, exist_ok=True)
    text = DRAFT
else:
    correction = json.loads(pathlib.Path(told).read_text())
    loop = correction.get("loop")
    if loop:
        print(f"{loop['phase']} {loop['number']}/{loop['limit']}: {correction['what_to_do']}")
    text = target.read_text()
    for unmet in correction["failed"]:
        for wrong, right in REMEDIES.get(unmet["criterion"], []):
            text = text.replace(wrong, right)
target.write_text(text)
