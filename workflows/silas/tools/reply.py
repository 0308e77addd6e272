"""Puts the reply to a mail into `outbox`, and the mail into `kept`. With --check, says what is missing instead."""
import json
import os
import sys

from sort import move

name, text = json.loads(sys.argv[-2])["file"], sys.argv[-1]
reply, place = f"outbox/{name}", f"kept/{name}"
if "--check" in sys.argv:
    is_there = os.path.exists(reply) and open(reply).read() == text + "\n" and os.path.exists(place)
    sys.exit(None if is_there else f"{reply} is not the reply, or {place} is missing")
os.makedirs("outbox", exist_ok=True)
with open(reply, "w") as out:
    out.write(text + "\n")
move(f"inbox/{name}", place)
