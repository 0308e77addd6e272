"""Moves mails into their folders, each once. With --check, says which are not there instead."""
import json
import os
import shutil
import sys

FOLDERS = {"archive": "archive", "keep": "kept"}

places = {mail["file"]: f"{FOLDERS[mail['action']]}/{mail['file']}" for mail in json.loads(sys.argv[-1])}
if "--check" in sys.argv:
    missing = [place for place in places.values() if not os.path.exists(place)]
    sys.exit(f"missing: {missing}" if missing else None)
for name, place in places.items():
    # A repeated attempt finds what the one before has moved.
    if not os.path.exists(place):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.move(f"inbox/{name}", place)
