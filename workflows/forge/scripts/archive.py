"""Files of the archive: a title, lines `key: value`, a line `---`, and text."""

import datetime
import os
import re
import sys

PREFIXES = {"views": "V", "expressions": "E", "observations": "O", "linkages": "L", "pk": "PK",
            "outcomes": "OUT", "counterfactuals": "CF", "proposals": "SEP"}


def refuse(what, remedy):
    """Ends with what is wrong and what to do."""
    print(f"{what}\nremedy: {remedy}", file=sys.stderr)
    raise SystemExit(1)


def today():
    """The day."""
    return datetime.date.today().isoformat()


def parse(text):
    """The fields of a file, and the text below them."""
    head, _, body = text.partition("\n---\n")
    pairs = (line.split(":", 1) for line in head.splitlines() if ":" in line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, value in pairs}, body


def changed(text, **fields):
    """A file with other values of some fields; one that it lacks is added."""
    head, mark, body = text.partition("\n---\n")
    for name, value in fields.items():
        line = f"{name}: {value}"
        head, count = re.subn(rf"^{re.escape(name)}:.*$", lambda _: line, head, flags=re.MULTILINE)
        head += "" if count else f"\n{line}"
    return head + mark + body


def header(text):
    """The first eight lines."""
    return "\n".join(text.splitlines()[:8])


def summary(text):
    """The header, and the section SUMMARY."""
    found = re.search(r"^#+ SUMMARY\n(.*?)(?=^#|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    return header(text) + ("\n" + found.group(1).strip() if found else "")


def records(category):
    """The files of a category, by their names: path, text."""
    folder = os.path.join("memory", category)
    names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
    return [(path, read(path)) for path in (os.path.join(folder, name) for name in names)]


def read(path):
    """The text of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    """Writes a file, whole or not at all; a view or an expression that it replaces is kept."""
    if os.path.exists(path) and path.split(os.sep)[1] in ("views", "expressions"):
        name = os.path.basename(path)[:-len(".md")]
        stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%S%f")
        os.makedirs("memory/archive", exist_ok=True)
        put(f"memory/archive/{name}_{stamp}.md", read(path))
    put(path, text)


def put(path, text):
    """Replaces a file at once."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


def next_path(category):
    """The path of a new file: one more than the highest number that there is."""
    prefix = PREFIXES[category]
    numbers = [int(found.group(1)) for path, _ in records(category)
               if (found := re.search(rf"{prefix}-(\d+)\.md$", path))]
    return f"memory/{category}/{prefix}-{max(numbers, default=0) + 1:03d}.md"
