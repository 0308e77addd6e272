"""Applies an approved proposal to a copy of a skill. It changes no skill in its place.

Exit codes: 0 done, 2 cannot be done.
"""

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from types import SimpleNamespace

SKILL = re.compile(r"[^\s/._-]+(-[^\s/._-]+)*")
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def refuse(what, remedy):
    """Ends with what is wrong and what to do."""
    print(f"apply: {what}\nremedy: {remedy}", file=sys.stderr)
    raise SystemExit(2)


def parts(text):
    """What a proposal is about, and the lines of its diff."""
    head, _, rest = text.partition("\n")
    block = re.search(r"^(`{3,})diff\n(.*?)\n\1$", rest, re.DOTALL | re.MULTILINE)
    try:
        if not (head.startswith("<!-- ") and head.endswith(" -->") and block):
            raise ValueError("it has not the form of one")
        about = json.loads(head[len("<!-- "):-len(" -->")])
        skill, path, base = (about[key] for key in ("skill", "file", "base"))
        if not SKILL.fullmatch(skill) or path != "SKILL.md" or not re.fullmatch("[0-9a-f]{64}", base):
            raise ValueError("it is about nothing that may be changed")
    except (ValueError, KeyError, TypeError) as error:
        refuse(f"this is no proposal: {error}", "make it with propose.py")
    return skill, path, base, block[2].split("\n")


def patched(text, diff):
    """The text after the diff, which must fit exactly."""
    old, new, at = text.split("\n")[:-1], [], 0
    left = (0, 0)
    for line in diff[2:]:
        hunk = HUNK.fullmatch(line) if left == (0, 0) else None
        if hunk:
            start = int(hunk[1]) - (hunk[2] != "0")
            if start < at:
                refuse("the diff does not fit", "make the proposal anew")
            new += old[at:start]
            at = start
            left = (int(hunk[2] or 1), int(hunk[3] or 1))
            continue
        sign, own = line[:1], line[1:]
        if sign in (" ", "-"):
            if at >= len(old) or old[at] != own:
                refuse("the diff does not fit", "make the proposal anew")
            at += 1
        if sign in (" ", "+"):
            new.append(own)
        if sign not in (" ", "-", "+") or left == (0, 0):
            refuse("the diff is broken", "make the proposal anew")
        left = (left[0] - (sign != "+"), left[1] - (sign != "-"))
    if left != (0, 0):
        refuse("the diff is cut off", "make the proposal anew")
    return "\n".join(new + old[at:]) + "\n"


def arguments(**kinds):
    """The flags, each `one` value, `many`, or a `flag` without one."""
    given = {name: {"one": None, "many": [], "flag": False}[kind] for name, kind in kinds.items()}
    for word in sys.argv[1:]:
        flag, sign, value = word.partition("=")
        name = flag[2:].replace("-", "_")
        kind = kinds.get(name) if flag == "--" + name.replace("_", "-") else None
        if kind is None or (kind == "flag") == bool(sign):
            refuse(f"unknown argument: {word!r}", "a flag and its value are one word: --flag=VALUE")
        if kind == "many":
            given[name].append(value)
        else:
            given[name] = value if sign else True
    return SimpleNamespace(**given)


def main():
    args = arguments(proposal="one", digest="one", into="one", skills="many")
    if not (args.proposal and args.digest and args.into):
        refuse("something is missing", "give --proposal=FILE, --digest=SHA256 and --into=FOLDER")
    try:
        with open(args.proposal, "rb") as file:
            content = file.read()
        text = content.decode()
    except (OSError, ValueError) as error:
        refuse(f"the proposal cannot be read: {error}", "give --proposal as a file that propose.py has written")
    if hashlib.sha256(content).hexdigest() != args.digest:
        refuse("the proposal is not the one that was approved", "let somebody approve it as it is now")
    skill, path, base, diff = parts(text)
    places = args.skills or ["skills", ".agents/skills", ".claude/skills"]
    folders = [os.path.join(place, skill) for place in places]
    folder = next((it for it in folders if os.path.isfile(os.path.join(it, "SKILL.md"))), None)
    if folder is None:
        refuse(f"there is no skill {skill}", "run this in the workspace that has it, or give --skills")
    with open(os.path.join(folder, path), "rb") as file:
        before = file.read()
    if hashlib.sha256(before).hexdigest() != base:
        refuse(f"{folder}/{path} has changed since the proposal was made", "make the proposal anew")
    after = patched(before.decode(), diff)
    target = os.path.join(args.into, skill)
    if os.path.lexists(target):
        refuse(f"it is there already: {target}", "give --into another folder; no skill is changed in its place")
    try:
        os.makedirs(args.into, exist_ok=True)
        work = tempfile.mkdtemp(prefix=".new-", dir=args.into)
        try:
            copy = os.path.join(work, skill)
            shutil.copytree(folder, copy, symlinks=True)
            with open(os.path.join(copy, path), "w", encoding="utf-8") as file:
                file.write(after)
            os.rename(copy, target)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except (OSError, ValueError, shutil.Error) as error:
        refuse(f"the copy cannot be written: {error}", "give --into a folder that the step may write")
    line = json.dumps({"path": target, "file": os.path.join(target, path),
                       "digest": hashlib.sha256(after.encode()).hexdigest()})
    if os.environ.get("WF_OUTPUT"):
        with open(os.environ["WF_OUTPUT"], "a", encoding="utf-8") as outputs:
            print(line, file=outputs)
    else:
        print(line)


if __name__ == "__main__":
    main()
