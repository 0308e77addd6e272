"""Divides the mails into batches of ten, the surest first. With --check, compares them with the inbox instead."""
import json
import os
import sys

mails = json.loads(sys.argv[-1])
if "--check" in sys.argv:
    named, there = sorted(mail["file"] for mail in mails), sorted(os.listdir("inbox"))
    sys.exit(None if named == there else f"named are {named}, and the inbox has {there}")
mails.sort(key=lambda mail: -mail["confidence"])
batches = [mails[at : at + 10] for at in range(0, len(mails), 10)]
with open(os.environ["WF_OUTPUT"], "a") as out:
    out.write("batches=" + json.dumps(batches) + "\n")
