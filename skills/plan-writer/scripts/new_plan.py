"""Writes a first plan that has no mistakes.

Exit codes: 0 done, 2 cannot be done.
"""

import json
import os
import re
import sys
from types import SimpleNamespace

ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
NAME = re.compile(r"[a-z][a-z0-9_]*")
LONGEST = 128


def refuse(what, remedy):
    """Ends with what is wrong and what to do."""
    print(f"new_plan: {what}\nremedy: {remedy}", file=sys.stderr)
    raise SystemExit(2)


def quoted(text):
    """Text as a double-quoted scalar of YAML on one line."""
    def escape(char):
        code = ord(char)
        if code < 0x20 or char in "\"\\":
            return json.dumps(char)[1:-1]
        if 0x7F <= code <= 0x9F or 0xD800 <= code <= 0xDFFF or code in (0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF):
            return f"\\u{code:04x}"
        return char
    return '"' + "".join(map(escape, text)) + '"'


def named(words, what):
    """The pairs of NAME=TEXT."""
    pairs = []
    for word in words:
        name, sign, command = word.partition("=")
        if not sign or not command.strip():
            refuse(f"{what} says no command: {word!r}", f"write {what}=NAME=COMMAND")
        if not NAME.fullmatch(name) or len(name) > LONGEST:
            refuse(f"{what} has no name that a step can have: {name!r}",
                   "use lower-case letters, digits and _, with a letter first")
        if any(0xD800 <= ord(char) <= 0xDFFF for char in command) or "\0" in command:
            refuse(f"the command of {name!r} is no text", "write it in UTF-8")
        pairs.append((name, command))
    return pairs


def unique(pairs, what):
    """Refuses a name that comes twice."""
    seen = set()
    for name, _ in pairs:
        if name in seen:
            refuse(f"{what} {name!r} comes twice", "give each a name of its own")
        seen.add(name)


def plan(args, steps, checks, made):
    """The text of the plan."""
    lines = ["---", "kind: plan", f"id: {quoted(args.id)}"]
    if args.title and args.title.strip():
        lines.append(f"title: {quoted(args.title)}")
    lines.append("steps:")
    before = None
    for name, command in steps:
        lines.append(f"  - id: {name}")
        if before and not args.parallel:
            lines.append(f"    depends_on: [{before}]")
        lines.append(f"    run: {quoted(command)}")
        files = [quoted(file) for maker, file in made if maker == name]
        if files:
            lines.append(f"    artifacts: [{', '.join(files)}]")
        own = [proof for proven, proof in checks if proven == name]
        if own:
            lines.append("    verify:")
        for number, proof in enumerate(own, 1):
            lines.append(f"      - {{name: holds_{number}, run: {quoted(proof)}}}")
        before = name
    lines += ["---", f"# {args.id}", "", "What this is for, and how to see that it worked.", ""]
    return "\n".join(lines)


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
    args = arguments(id="one", step="many", verify="many", makes="many", title="one", out="one", parallel="flag", dry_run="flag")
    if not (args.id and args.step and args.out):
        refuse("something is missing", "give --id=NAME, --step=NAME=COMMAND and --out=FILE")
    if not ID.fullmatch(args.id) or len(args.id) > LONGEST:
        refuse(f"this is no id: {args.id!r}", "use lower-case words joined by hyphens, as nightly-report")
    steps, checks = named(args.step, "--step"), named(args.verify, "--verify")
    unique(steps, "the step")
    for name, _ in checks:
        if name not in dict(steps):
            refuse(f"--verify names no step: {name!r}", "use the name of a --step")
    made = named(args.makes, "--makes")
    for name, _ in made:
        if name not in dict(steps):
            refuse(f"--makes names no step: {name!r}", "use the name of a --step")
    text = plan(args, steps, checks, made)
    if args.dry_run:
        print(text)
    else:
        try:
            os.makedirs(os.path.dirname(args.out) or ".", exist_ok=True)
            with open(args.out, "x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            refuse(f"the file is there already: {args.out}", "give --out a new name")
        except (OSError, ValueError) as error:
            refuse(f"the plan cannot be written: {error}", "give --out below a folder that the step may write")
    line = json.dumps({"path": args.out, "steps": len(steps)})
    if os.environ.get("WF_OUTPUT"):
        with open(os.environ["WF_OUTPUT"], "a", encoding="utf-8") as outputs:
            print(line, file=outputs)
    elif not args.dry_run:
        print(line)


if __name__ == "__main__":
    main()
