"""Moves mails into their folders, each once. With --check, says which are not there instead. With --as ACTION, a mail is given. With --back, the
way is the other one."""
import json
import os
import shutil
import sys

FOLDERS = {"archive": "archive", "keep": "kept"}


def places(arguments):
    """The place from which each mail comes, and the one to which it goes."""
    mails = json.loads(arguments[-1])
    if "--as" in arguments:
        mails = [{**mails, "action": arguments[arguments.index("--as") + 1]}]
    ways = [(f"inbox/{mail['file']}", f"{FOLDERS[mail['action']]}/{mail['file']}") for mail in mails]
    return [(place, inbox) for inbox, place in ways] if "--back" in arguments else ways


def move(origin, place):
    """Moves a mail; a repeated attempt finds what the one before has moved."""
    if not os.path.exists(place):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.move(origin, place)


if __name__ == "__main__":
    found = places(sys.argv)
    if "--check" in sys.argv:
        missing = [place for _, place in found if not os.path.exists(place)]
        sys.exit(f"missing: {missing}" if missing else None)
    for origin, place in found:
        move(origin, place)
