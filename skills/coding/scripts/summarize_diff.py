"""Counts what a diff changes, file by file, and names what is risky.

Exit codes: 0 done, 2 cannot be done.
"""

import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

MOST_BYTES = 50 * 1024 * 1024
MOST_FILES = 500

LOCKS = {
    "Cargo.lock", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml",
    "poetry.lock", "Pipfile.lock", "uv.lock", "go.sum", "Gemfile.lock", "composer.lock",
    "flake.lock", "skills.lock", "bun.lock", "bun.lockb", "packages.lock.json",
}
TEST = re.compile(r"(^|/)(tests?|spec|__tests__)/|(^|/)test_[^/]*$|[_.-](test|spec)s?\.[^/]*$")
CI = re.compile(r"^(\.github|\.gitlab|\.circleci|\.buildkite)/|(^|/)(\.gitlab-ci\.yml|Jenkinsfile|Dockerfile)$")
SECRET = re.compile(
    r"-{5}BEGIN [A-Z ]*PRIVATE KEY-{5}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{30,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\bsk-[A-Za-z0-9_-]{20,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\."
    r"|://[^/\s:@]+:[^/\s:@]{6,}@"
    r"|(?i:(?:password|passwd|secret|token|api[_-]?key)[\"']?\s*[:=]\s*[\"'][^\"'\s]{8,}[\"'])"
)
HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
ESCAPE = re.compile(r"\\([0-7]{3}|.)")
NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def refuse(what, remedy):
    """Ends with what is wrong and what to do."""
    print(f"summarize_diff: {what}\nremedy: {remedy}", file=sys.stderr)
    raise SystemExit(2)


def unquoted(name):
    """A name as git quotes it, as it is."""
    if not (len(name) > 1 and name[0] == name[-1] == '"'):
        return name

    def plain(match):
        word = match[1]
        return chr(int(word, 8)) if len(word) == 3 else NAMED.get(word, word)

    text = ESCAPE.sub(plain, name[1:-1])
    try:
        return text.encode("latin-1").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return text


def name_of(line, prefix):
    """The path in a line `--- a/path` or `+++ b/path`; None: there is no file."""
    name = line[4:].rstrip("\r")
    if not name.startswith('"'):
        name = name.split("\t")[0]
    name = unquoted(name)
    if name == "/dev/null":
        return None
    return name[2:] if name.startswith(prefix) else name


def header_name(line):
    """The path in a line `diff --git a/path b/path`."""
    rest = line[len("diff --git "):]
    if rest.endswith('"'):
        at = rest.rfind(' "', 0, -1)
        return unquoted(rest[at + 1:])[2:] if at >= 0 else rest
    half = len(rest) // 2
    if rest[:half][2:] == rest[half + 1:][2:]:
        return rest[half + 1:][2:]
    return rest.rsplit(" b/", 1)[-1]


class File:
    """What a diff does to a file."""

    def __init__(self, path=""):
        self.path, self.status, self.binary = path, "changed", False
        self.added = self.removed = self.secrets = 0
        self.executable = False

    def shown(self):
        return {"path": self.path, "status": self.status, "added": self.added,
                "removed": self.removed, "binary": self.binary}


def header(file, line):
    """Takes in a line before the first hunk."""
    if line.startswith("new file mode"):
        file.status = "added"
        file.executable = line.endswith("755")
    elif line.startswith("deleted file mode"):
        file.status = "deleted"
    elif line.startswith("new mode") and line.endswith("755"):
        file.executable = True
    elif line.startswith("rename to "):
        file.status, file.path = "renamed", unquoted(line[len("rename to "):])
    elif line.startswith(("Binary files ", "GIT binary patch")):
        file.binary = True
    elif line.startswith("--- "):
        old = name_of(line, "a/")
        if old is None:
            file.status = "added"
        elif not file.path:
            file.path = old
    elif line.startswith("+++ "):
        new = name_of(line, "b/")
        if new is None:
            file.status = "deleted"
        else:
            file.path = new


def read(text):
    """The files of a unified diff."""
    files, file, left = [], None, (0, 0)
    is_git, had_hunk = False, False
    for line in text.split("\n"):
        if left != (0, 0) and file is not None:
            old, new = left
            if line.startswith("+"):
                file.added += 1
                file.secrets += bool(SECRET.search(line))
                left = (old, max(new - 1, 0))
            elif line.startswith("-"):
                file.removed += 1
                left = (max(old - 1, 0), new)
            elif not line.startswith("\\"):
                left = (max(old - 1, 0), max(new - 1, 0))
            continue
        hunk = HUNK.match(line)
        if hunk and file is not None:
            left = tuple(int(count) if count is not None else 1 for count in hunk.groups())
            had_hunk = True
        elif line.startswith("diff --git "):
            file, is_git, had_hunk = File(header_name(line)), True, False
            files.append(file)
        elif line.startswith("--- ") and (file is None or not is_git or had_hunk):
            file, is_git, had_hunk = File(), False, False
            files.append(file)
            header(file, line)
        elif file is not None and not had_hunk:
            header(file, line)
    return [file for file in files if file.path]


def risks(files):
    """What to look at, by kind and path."""
    found = []
    for file in files:
        name = file.path.rsplit("/", 1)[-1]
        is_test = bool(TEST.search(file.path))
        kinds = {
            "deleted_test": is_test and file.status == "deleted" and max(file.removed, 1),
            "fewer_tests": is_test and file.status != "deleted" and max(file.removed - file.added, 0),
            "lock_file": name in LOCKS and max(file.added + file.removed, 1),
            "binary": file.binary and 1,
            "secret": file.secrets,
            "ci": bool(CI.search(file.path)) and max(file.added + file.removed, 1),
            "mode": file.executable and 1,
        }
        found += [{"kind": kind, "path": file.path, "count": int(count)}
                  for kind, count in kinds.items() if count]
    return found


def bounded(text):
    """Text that is not too long."""
    if len(text) > MOST_BYTES:
        refuse(f"the diff has more than {MOST_BYTES} bytes", "look at it in parts")
    return text.decode("utf-8", "replace")


def from_file(path, is_sample):
    """The text of a file."""
    if is_sample:
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        path = os.path.join(os.environ.get("WF_SKILL") or here, path)
    try:
        with open(path, "rb") as file:
            return bounded(file.read(MOST_BYTES + 1))
    except (OSError, ValueError) as error:
        refuse(f"the diff cannot be read: {error}", "give --diff as a file, relative to where this runs")


def from_git(old, new):
    """The diff of two revisions."""
    for name, revision in (("--from", old), ("--to", new)):
        if revision.startswith("-") or "\0" in revision or not revision.strip():
            refuse(f"{name} is no revision: {revision!r}", "give a branch, a tag or a commit")
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "diff", "--no-color",
               "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/",
               "--end-of-options", old, new, "--"]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    except OSError as error:
        refuse(f"git cannot be started: {error}", "install git, or give --diff")
    if done.returncode != 0:
        why = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        refuse(f"git diff failed: {why}", "see that both revisions are there: git rev-parse NAME")
    return bounded(done.stdout)


def write(path, value):
    """A JSON file, whole or not at all."""
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1, ensure_ascii=False)
            file.write("\n")
        os.replace(path + ".new", path)
    except (OSError, ValueError) as error:
        refuse(f"the sum cannot be written: {error}", "give --out below a folder that the step may write")


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
    args = arguments(**{"diff": "one", "from": "one", "to": "one", "out": "one", "try": "flag"})
    args.old, args.new, args.is_sample = vars(args)["from"], args.to, vars(args)["try"]
    if args.new is None:
        args.new = "HEAD"
    if (args.diff is None) == (args.old is None):
        refuse("it is not clear what to look at", "give either --diff=FILE or --from=REVISION")
    if args.out == "":
        refuse("--out is empty", "leave it out, or name a file")
    text = from_git(args.old, args.new) if args.diff is None else from_file(args.diff, args.is_sample)
    files = read(text)
    if not files and text.strip():
        refuse("this is no unified diff", "write one with: git diff, or: diff -u OLD NEW")
    result = {
        "files": len(files),
        "added": sum(file.added for file in files),
        "removed": sum(file.removed for file in files),
        "changes": [file.shown() for file in files[:MOST_FILES]],
        "risks": risks(files)[:MOST_FILES],
    }
    if args.out is not None:
        write(args.out, result)
    line = json.dumps(result)
    if os.environ.get("WF_OUTPUT"):
        with open(os.environ["WF_OUTPUT"], "a", encoding="utf-8") as outputs:
            print(line, file=outputs)
    else:
        print(line)


if __name__ == "__main__":
    main()
