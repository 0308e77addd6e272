"""Writes process knowledge as evidence for the skill retrospective, a line of JSON each."""

import json
import os

import archive

PROPOSE = "skills/retrospective/scripts/propose.py"


def lesson(path, text):
    """The line of a piece of process knowledge."""
    fields = archive.parse(text)[0]
    name = os.path.basename(path)[:-len(".md")]
    return {"kind": "lesson", "id": name, "skill": fields["skill"], "stance": fields["stance"],
            "weight": float(fields["weight"]), "lesson": text.splitlines()[0].lstrip("# ").removeprefix(name).strip()}


if __name__ == "__main__":
    if not os.path.isfile(PROPOSE):
        archive.refuse(f"there is no {PROPOSE}", "wf skill install bundled:retrospective")
    lines = [json.dumps(lesson(*record)) + "\n" for record in archive.records("pk")]
    archive.put("session/knowledge.jsonl", "".join(lines))
