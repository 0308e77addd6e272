"""Divides the mails: replies are drafts, the unsure are decided one by one, the others are batches of ten, the surest first.

With --check, compares them with the inbox instead.
"""
import json
import os
import sys

SURE, SIZE = 0.7, 10

mails = json.loads(sys.argv[-1])
if "--check" in sys.argv:
    named, there = sorted(mail["file"] for mail in mails), sorted(os.listdir("inbox"))
    sys.exit(None if named == there else f"named are {named}, and the inbox has {there}")
mails.sort(key=lambda mail: -mail["confidence"])
drafts = [mail for mail in mails if mail["action"] == "reply"]
moves = [mail for mail in mails if mail["action"] != "reply"]
sure = [mail for mail in moves if mail["confidence"] >= SURE]
told = {"batches": [sure[at : at + SIZE] for at in range(0, len(sure), SIZE)], "unsure": moves[len(sure) :], "drafts": drafts}
with open(os.environ["WF_OUTPUT"], "a") as out:
    out.write(json.dumps(told) + "\n")
