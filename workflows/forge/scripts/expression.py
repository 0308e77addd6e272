"""Writes an Expression that was agreed to and links it to its View, or the counterfactual of one that was not."""

import os
import sys

import archive

FIELDS = ["notional", "max_loss_pct", "duration_impact", "entry", "target", "stop", "expires"]
MIN_CONFIDENCE = 0.6
TRACKING_DAYS = 90


def text(name, given, day):
    """The file of an Expression."""
    lines = [f"# {name} {given['TITLE']}", "status: active", f"view_id: {given['VIEW_ID']}", f"opened: {day}"]
    lines += [f"{field}: {given[field.upper()]}" for field in FIELDS]
    return "\n".join(lines) + f"\n---\n\n## SUMMARY\n{given['RATIONALE']}\n"


def untaken(name, given, confidence, day):
    """The file of a counterfactual; one of a View that was hardly held is recorded, and not tracked."""
    lines = [f"# {name} {given['TITLE']}", f"status: {'tracking' if confidence >= MIN_CONFIDENCE else 'recorded'}",
             "decision_type: rejected_expression", f"view_id: {given['VIEW_ID']}", f"reference_date: {day}",
             f"tracking_days: {TRACKING_DAYS}", f"confidence: {confidence}"]
    lines += [f"{field}: {given[field.upper()]}" for field in ("entry", "target", "stop")]
    return "\n".join(lines) + f"\n---\n\nNot taken: declined, or nobody answered.\n\n{given['RATIONALE']}\n"


def linked(view, name):
    """A View with one more Expression."""
    known = archive.parse(view)[0].get("expressions", "").split()
    return archive.changed(view, expressions=" ".join(known + [name]))


def name_of(path):
    """The id that a path ends with."""
    return os.path.basename(path)[:-len(".md")]


def main():
    given = os.environ
    view = f"memory/views/{given['VIEW_ID']}.md"
    if not os.path.isfile(view):
        archive.refuse(f"an Expression links to a View, and there is no {view}", "write the View first")
    if sys.argv[1] == "untaken":
        path = archive.next_path("counterfactuals")
        confidence = float(archive.parse(archive.read(view))[0]["confidence"])
        archive.write(path, untaken(name_of(path), given, confidence, archive.today()))
    elif sys.argv[1] == "write":
        path = archive.next_path("expressions")
        archive.write(path, text(name_of(path), given, archive.today()))
        archive.write(view, linked(archive.read(view), name_of(path)))
        with open(given["WF_OUTPUT"], "a", encoding="utf-8") as outputs:
            print(f"path={path}", file=outputs)


if __name__ == "__main__":
    main()
