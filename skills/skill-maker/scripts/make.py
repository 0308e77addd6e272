"""Writes the folder of a new skill, with sample scripts that work.

Exit codes: 0 done, 2 cannot be done.
"""

import json
import os
import re
import shutil
import sys
import tempfile
from types import SimpleNamespace

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
SCRIPT = re.compile(r"[a-z][a-z0-9_]*\.(py|sh)")

FREEDOM = {
    "high": "Many ways are right. Look first, choose one, and say why. The bounds below hold for each.",
    "medium": "Follow the steps. Where the work at hand differs, change the arguments, not the scripts.",
    "low": "Run the scripts as they are, in this order. If one fails, stop and tell its message.",
}

SKILL = """\
---
name: {name}
description: {description}
metadata:
  version: "1.0"
{own}---
# {title}

{freedom}

## What to do

1. See that what is needed is there.
{steps}
{last}. Look at the result before it is used.

## What to keep in mind

- A message of a script says what to change. Change that, and nothing else.
"""

OWN = """\
      scripts/{script}:
        description: Counts the lines of a file.
        args:
          path: {{type: string, minLength: 1, maxLength: 300, description: The file.}}
          dry-run: {{type: boolean, default: false, description: Whether nothing is counted.}}
        timeout: 1m
        dry_run: {{args: {{path: ".", dry-run: true}}}}
        outputs: {{lines: {{type: integer, minimum: 0}}}}
"""

PYTHON = '''\
"""Counts the lines of a file.

Exit codes: 0 done, 2 cannot be done.
"""

import json
import os
import sys


def refuse(what, remedy):
    """Ends with what is wrong and what to do."""
    print(f"{what}\\nremedy: {remedy}", file=sys.stderr)
    raise SystemExit(2)


def main():
    path, is_dry = "", False
    for word in sys.argv[1:]:
        if word.startswith("--path="):
            path = word[len("--path="):]
        elif word == "--dry-run":
            is_dry = True
        else:
            refuse(f"unknown argument: {word!r}", "a flag and its value are one word: --path=FILE")
    if not path:
        refuse("no file is named", "give --path=FILE")
    lines = 0
    if not is_dry:
        try:
            with open(path, "rb") as file:
                lines = sum(1 for _ in file)
        except (OSError, ValueError) as error:
            refuse(f"the file cannot be read: {error}", "give --path relative to where this runs")
    line = json.dumps({"lines": lines})
    if os.environ.get("WF_OUTPUT"):
        with open(os.environ["WF_OUTPUT"], "a", encoding="utf-8") as outputs:
            print(line, file=outputs)
    else:
        print(line)


if __name__ == "__main__":
    main()
'''

SHELL = """\
#!/bin/sh
# Counts the lines of a file.
# Exit codes: 0 done, 2 cannot be done.
set -eu

refuse() {
    printf '%s\\nremedy: %s\\n' "$1" "$2" >&2
    exit 2
}

# Where the results go.
results() {
    if [ -n "${WF_OUTPUT:-}" ]; then cat >>"$WF_OUTPUT"; else cat; fi
}

path='' dry_run=''
for word do
    case $word in
        --path=?*) path=${word#*=} ;;
        --dry-run) dry_run=yes ;;
        *) refuse "unknown argument: $word" "a flag and its value are one word: --path=FILE" ;;
    esac
done
[ -n "$path" ] || refuse "no file is named" "give --path=FILE"
lines=0
if [ -z "$dry_run" ]; then
    # No path is taken for an option.
    case $path in
        /*) ;;
        *) path=./$path ;;
    esac
    [ -f "$path" ] || refuse "there is no such file: $path" "give --path relative to where this runs"
    lines=$(wc -l <"$path" | tr -d ' ')
fi
echo "lines=$lines" | results
"""


def refuse(what, remedy):
    """Ends with what is wrong and what to do."""
    print(f"make: {what}\nremedy: {remedy}", file=sys.stderr)
    raise SystemExit(2)


def quoted(text):
    """Text as a double-quoted scalar of YAML."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def check(args):
    """Refuses what makes no skill."""
    if not NAME.fullmatch(args.name) or len(args.name) > 64:
        refuse(f"this is no name of a skill: {args.name!r}",
               "use lower-case words of letters and digits, joined by hyphens, 64 characters at most")
    about = args.description
    if not 20 <= len(about) <= 1024 or about != about.strip():
        refuse("the description is not one of 20 to 1024 characters, without blanks around it",
               "say what the skill does and when it is used")
    if not about.isprintable():
        refuse("the description has characters that nobody sees, or a line end", "write it in one line of plain text")
    if not re.search(r"\b(when|whenever|if|before|after)\b", about, re.IGNORECASE):
        refuse("the description does not say when the skill is used", "add a sentence that begins with: Use when")
    for script in args.script:
        if not SCRIPT.fullmatch(script) or len(script) > 100:
            refuse(f"this is no name of a script: {script!r}",
                   "use lower-case letters, digits and _, and the ending .py or .sh")
    stems = [script.rsplit(".", 1)[0] for script in args.script]
    if len(set(stems)) != len(stems):
        refuse("two scripts have the same name", "give each a name of its own, the ending aside")
    if not args.script and args.freedom != "high":
        refuse(f"a skill with {args.freedom} freedom has scripts", "give --script=NAME.py, or --freedom=high")
    if not args.into:
        refuse("--into is empty", "leave it out, or name a folder")


def files(args):
    """The files of the skill, by path."""
    own = "".join(OWN.format(script=script) for script in args.script)
    steps = [f"{number}. Run `scripts/{script}` with `--path=FILE`."
             for number, script in enumerate(args.script, 2)]
    steps = steps or ["2. Do what the description says, within the bounds below."]
    text = SKILL.format(
        name=args.name,
        description=quoted(args.description),
        own=f"  wf: |\n    scripts:\n{own}" if own else "",
        title=args.name.replace("-", " ").capitalize(),
        freedom=FREEDOM[args.freedom],
        steps="\n".join(steps),
        last=len(steps) + 2,
    )
    made = {"SKILL.md": text}
    for script in args.script:
        made[f"scripts/{script}"] = PYTHON if script.endswith(".py") else SHELL
    return made


def write(folder, made):
    """Writes a folder: whole, or not at all."""
    above = os.path.dirname(folder)
    os.makedirs(above, exist_ok=True)
    work = tempfile.mkdtemp(prefix=".new-", dir=above)
    try:
        for path, text in made.items():
            place = os.path.join(work, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "x", encoding="utf-8") as file:
                file.write(text)
            if path.startswith("scripts/"):
                os.chmod(place, 0o755)
        os.chmod(work, 0o755)
        os.rename(work, folder)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


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
    args = arguments(name="one", description="one", script="many", freedom="one", into="one", dry_run="flag")
    if not (args.name and args.description):
        refuse("something is missing", "give --name=NAME and --description=TEXT")
    args.freedom = "medium" if args.freedom is None else args.freedom
    args.into = "skills" if args.into is None else args.into
    if args.freedom not in FREEDOM:
        refuse(f"unknown freedom: {args.freedom!r}", "use high, medium or low")
    check(args)
    made = files(args)
    folder = os.path.join(args.into, args.name)
    if os.path.lexists(folder):
        refuse(f"it is there already: {folder}", "choose another name, or change the skill by hand")
    if not args.dry_run:
        try:
            write(folder, made)
        except (OSError, ValueError) as error:
            refuse(f"the skill cannot be written: {error}", "give --into a folder that the step may write")
    line = json.dumps({"path": folder, "files": sorted(made)})
    if os.environ.get("WF_OUTPUT"):
        with open(os.environ["WF_OUTPUT"], "a", encoding="utf-8") as outputs:
            print(line, file=outputs)
    else:
        print(line)


if __name__ == "__main__":
    main()
