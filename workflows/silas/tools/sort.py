"""Moves mails into their folders, each once. With --check, says which are not there instead. With --as ACTION, a mail is given."""
import json
import os
import shutil
import sys

FOLDERS = {"archive": "archive", "keep": "kept"}


def places(arguments):
    """The place of each mail, by its file."""
    mails = json.loads(arguments[-1])
    if "--as" in arguments:
        mails = [{**mails, "action": arguments[arguments.index("--as") + 1]}]
    return {mail["file"]: f"{FOLDERS[mail['action']]}/{mail['file']}" for mail in mails}


def move(name, place):
    """Moves a mail; a repeated attempt finds what the one before has moved."""
    if not os.path.exists(place):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.move(f"inbox/{name}", place)


if __name__ == "__main__":
    found = places(sys.argv)
    if "--check" in sys.argv:
        missing = [place for place in found.values() if not os.path.exists(place)]
        sys.exit(f"missing: {missing}" if missing else None)
    for name, place in found.items():
        move(name, place)
