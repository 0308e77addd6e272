"""Writes an Expression that was agreed to and links it to its View, or the counterfactual of one that was not."""

import os
import sys

import archive

FIELDS = ["notional", "max_loss_pct", "duration_impact", "entry", "target", "stop", "expires"]


def text(name, given, day):
    """The file of an Expression."""
    lines = [f"# {name} {given['TITLE']}", "status: active", f"view_id: {given['VIEW_ID']}", f"opened: {day}"]
    lines += [f"{field}: {given[field.upper()]}" for field in FIELDS]
    return "\n".join(lines) + f"\n---\n\n## SUMMARY\n{given['RATIONALE']}\n"


def untaken(name, given, day):
    """The file of a counterfactual."""
    return (f"# {name} {given['TITLE']}\nstatus: tracking\ndecision_type: rejected_expression\nview_id: {given['VIEW_ID']}\n"
            f"reference_date: {day}\ntracking_days: 90\nconfidence: 0.6\n---\n\n{given['RATIONALE']}\n")


def linked(view, name):
    """A View with one more Expression."""
    known = archive.parse(view)[0].get("expressions", "").split()
    return archive.changed(view, expressions=" ".join(known + [name]))


def write(given):
    view = f"memory/views/{given['VIEW_ID']}.md"
    if not os.path.isfile(view):
        archive.refuse(f"an Expression links to a View, and there is no {view}", "write the View first")
    path = archive.next_path("expressions")
    name = os.path.basename(path)[:-len(".md")]
    archive.write(path, text(name, given, archive.today()))
    archive.write(view, linked(archive.read(view), name))
    with open(os.environ["WF_OUTPUT"], "a", encoding="utf-8") as outputs:
        print(f"path={path}", file=outputs)


def main():
    given = os.environ
    if sys.argv[1] == "write":
        write(given)
    else:
        path = archive.next_path("counterfactuals")
        archive.write(path, untaken(os.path.basename(path)[:-len(".md")], given, archive.today()))


if __name__ == "__main__":
    main()
