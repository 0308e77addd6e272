"""Finds outcomes and counterfactuals that nobody learned from, and records what was learned as process knowledge."""

import json
import os
import sys

import archive


def unreviewed():
    """Outcomes, and counterfactuals that are judged, without a review: path, text, by their ids."""
    every = archive.records("outcomes") + [it for it in archive.records("counterfactuals")
                                           if archive.parse(it[1])[0].get("status") == "completed"]
    return {os.path.basename(path)[:-len(".md")]: (path, text) for path, text in every
            if "reviewed" not in archive.parse(text)[0]}


def mistakes(ids, reviewed, lessons):
    """What does not fit the archive."""
    if set(reviewed) != set(ids):
        yield f"`reviewed` must name {', '.join(sorted(ids))}, and names {', '.join(sorted(reviewed)) or 'nothing'}"
    for it in lessons:
        if it["source"] not in ids:
            yield f"the source {it['source']} of a lesson is none of them"
        if not os.path.isfile(f"skills/{it['skill']}/SKILL.md"):
            yield f"there is no skill {it['skill']}"


def knowledge(name, lesson, day):
    """The file of a piece of process knowledge."""
    lines = [f"# {name} {lesson['lesson']}"] + [f"{key}: {lesson[key]}" for key in ("skill", "weight", "stance")]
    return "\n".join(lines) + f"\nrecorded: {day}\nsource: {lesson['source']}\n---\n"


def gather():
    told = {"skill": archive.read("skills/retrospective-review/SKILL.md").split("\n---\n", 1)[1].strip(),
            "unreviewed": "\n\n".join(text for _, text in unreviewed().values()),
            "knowledge": "\n\n".join(archive.header(text) for _, text in archive.records("pk"))}
    with open(os.environ["WF_OUTPUT"], "a", encoding="utf-8") as outputs:
        print(json.dumps(told), file=outputs)


def record(lessons):
    """Writes the lessons, and then that their sources are reviewed."""
    known = {(text.splitlines()[0].partition(" ")[2].partition(" ")[2], archive.parse(text)[0].get("source"))
             for _, text in archive.records("pk")}
    for lesson in (it for it in lessons if (it["lesson"], it["source"]) not in known):
        path = archive.next_path("pk")
        archive.write(path, knowledge(os.path.basename(path)[:-len(".md")], lesson, archive.today()))
    for path, text in unreviewed().values():
        archive.write(path, archive.changed(text, reviewed=archive.today()))


def main():
    if sys.argv[1] == "gather":
        return gather()
    ids = unreviewed()
    if sys.argv[1] == "check":
        print("\n".join(ids) or "all are reviewed")
        raise SystemExit(1 if ids else 0)
    reviewed, lessons = json.loads(os.environ["REVIEWED"]), json.loads(os.environ["LESSONS"])
    found = list(mistakes(ids, reviewed, lessons))
    if found:
        archive.refuse("\n".join(found), "read what is in `unreviewed` again")
    if sys.argv[1] == "record":
        record(lessons)


if __name__ == "__main__":
    main()
