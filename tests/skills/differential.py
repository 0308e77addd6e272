"""Records what the published reference validator says about inputs and seeded mutants of them.

Called by differential.sh. Reads inputs.json (what, folder, text) and writes recorded.json:
`fixtures` has for each input the messages of the validator; `mutants` has for each mutant the
number of its input, its edits (place in characters, how many are taken out, what is put in) and
the codes. A code list begins with `!` if the validator ended in a traceback.
"""

import json
import random
import re
import sys
import tempfile
from pathlib import Path

from skills_ref import validate

SEED = 8
MUTANTS = 4000
LONGEST = 400

CODES = [
    ("START", "SKILL.md must start with"),
    ("CLOSE", "SKILL.md frontmatter not properly closed"),
    ("YAML", "Invalid YAML in frontmatter"),
    ("NOTMAP", "SKILL.md frontmatter must be a YAML mapping"),
    ("FIELDS", "Unexpected fields"),
    ("NAME-MISSING", "Missing required field in frontmatter: name"),
    ("NAME-EMPTY", "Field 'name' must be"),
    ("NAME-LEN", r"Skill name '[\s\S]*' exceeds"),
    ("NAME-CASE", r"Skill name '[\s\S]*' must be lowercase"),
    ("NAME-HYPHEN", "Skill name cannot start or end"),
    ("NAME-DHYPHEN", "Skill name cannot contain consecutive"),
    ("NAME-CHARS", r"Skill name '[\s\S]*' contains invalid"),
    ("NAME-DIR", "Directory name "),
    ("DESC-MISSING", "Missing required field in frontmatter: description"),
    ("DESC-EMPTY", "Field 'description' must be"),
    ("DESC-LEN", "Description exceeds"),
    ("COMPAT-TYPE", "Field 'compatibility' must be"),
    ("COMPAT-LEN", "Compatibility exceeds"),
]

# What mutations put in: what YAML, names and fences are made of.
PIECES = [
    " ", "  ", "\n", "\n\n", "\r\n", "\r", "\t", ":", ": ", "-", "- ", "--", "---", "---\n", "'",
    '"', "#", " # c", "[", "]", "{", "}", "a", "A", "_", "1", "|", ">", "|\n  ", ">-\n  ", "&a ",
    "*a", "!", "!!str ", "%", "@", "`", "?", "? ", ",", "...", "\n...\n", "\\", "\\n", "~", "<<: ",
    "x: y\n", "  x: y\n", "name: ", "description: ", "license: ", "metadata:\n  a: b\n",
    "compatibility: ", "\u00e9", "e\u0301", "\u6280", "\u00b2", "\u0410", "\U0001f980", "\u0085",
    "\u2028", "\ufeff", "\u00a0", "\u200b", "\x07", "\x00", "\x7f",
]


def code(message):
    for name, pattern in CODES:
        if re.match(pattern, message):
            return name
    raise SystemExit(f"a message of no known rule: {message!r}")


def verdict(root, folder, text):
    """The messages, and whether the validator ended in a traceback."""
    skill = root / folder
    skill.mkdir(exist_ok=True)
    (skill / "SKILL.md").write_bytes(text.encode("utf-8"))
    try:
        return validate(skill), False
    except RecursionError:
        raise
    except Exception:  # the traceback is what is recorded
        return [], True


def mutate(rng, text):
    edits = []
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
        # Most of what is decided stands in the front matter.
        end = text.find("---", 3)
        limit = len(text) if end < 0 or rng.random() < 0.1 else end + 4
        at = rng.randint(0, min(limit, len(text)))
        out = rng.choice([0, 0, 0, 1, 1, 2, 5])
        piece = "" if out and rng.random() < 0.5 else rng.choice(PIECES)
        edits.append([at, out, piece])
        text = text[:at] + piece + text[at + out :]
    return edits, text


def main(here):
    inputs = json.loads((here / "inputs.json").read_text("utf-8"))
    rng = random.Random(SEED)
    short = [n for n, (_, _, text) in enumerate(inputs) if len(text) <= LONGEST]
    with tempfile.TemporaryDirectory() as root:
        root = Path(root)
        fixtures = []
        for what, folder, text in inputs:
            messages, crashed = verdict(root, folder, text)
            # Of broken YAML, the words are the parser's own.
            first = lambda m: "Invalid YAML in frontmatter" if code(m) == "YAML" else m
            fixtures.append(["!"] if crashed else [[code(m), first(m)] for m in messages])
        valid = [n for n in short if not fixtures[n]]
        mutants = []
        for _ in range(MUTANTS):
            # Most mutants of what is broken are broken, too.
            n = rng.choice(valid if rng.random() < 0.6 else short)
            edits, text = mutate(rng, inputs[n][2])
            folder = inputs[n][1]
            messages, crashed = verdict(root, folder, text)
            mutants.append([n, edits, "!" if crashed else " ".join(code(m) for m in messages)])
    rows = lambda name, rows: f'"{name}": [\n' + ",\n".join(json.dumps(r) for r in rows) + "\n]"
    text = "{\n" + rows("fixtures", fixtures) + ",\n" + rows("mutants", mutants) + "\n}\n"
    (here / "recorded.json").write_text(text, "utf-8")
    count = sum(1 for m in mutants if not m[2])
    print(f"{len(fixtures)} inputs and {len(mutants)} mutants recorded; {count} mutants are valid")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
