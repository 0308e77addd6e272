"""Finds Expressions whose exit is reached and counterfactuals that can be judged, and records what became of them.

Exit code 1 of `check`: there are some, and they are printed.
"""

import datetime
import os
import sys

import archive

MIN_DAYS = 14
TRACKING_DAYS = 90


def reached(fields, level):
    """The exit that a level has reached; None: none of them."""
    if level is None or not {"entry", "target", "stop"} <= fields.keys():
        return None
    entry, target, stop = (float(fields[key]) for key in ("entry", "target", "stop"))
    sign = 1 if target > entry else -1
    if sign * level >= sign * target:
        return "target"
    return "stop" if sign * level <= sign * stop else None


def exit_of(fields, level, day):
    """Why an Expression ends; None: it goes on."""
    if fields.get("status") not in ("active", "review_required"):
        return None
    return reached(fields, level) or ("time" if fields.get("expires", day) < day else None)


def verdict_of(fields, level, day):
    """What would have become of a decision that was not taken; None: it is too early to say."""
    if fields.get("status") != "tracking":
        return None
    age = (datetime.date.fromisoformat(day) - datetime.date.fromisoformat(fields["reference_date"])).days
    if age < MIN_DAYS:
        return None
    return reached(fields, level) or ("time" if age >= int(fields.get("tracking_days", TRACKING_DAYS)) else None)


def found(category, decide):
    """The files for which it is decided: path, text, name, why, level."""
    levels = archive.parse(archive.read("portfolio/levels.md"))[0]
    for path, text in archive.records(category):
        name = os.path.basename(path)[:-len(".md")]
        level = float(levels[name]) if name in levels else None
        why = decide(archive.parse(text)[0], level, archive.today())
        if why:
            yield path, text, name, why, level


def outcome(name, fields, why, level, day):
    """The file of an outcome."""
    return (f"# NAME Outcome of {name}\nview: {fields['view_id']}\nexpression: {name}\nstatus: {why}\nclosed_at: {day}\n---\n\n"
            f"Entry: {fields.get('entry', 'unknown')}\nExit: {level if level is not None else 'unknown'}\n")


def close(path, text, name, why, level):
    """Closes an Expression, and records its outcome first: a crash between the two is seen by the next check."""
    day, fields = archive.today(), archive.parse(text)[0]
    known = [own for _, own in archive.records("outcomes") if archive.parse(own)[0].get("expression") == name]
    if not known:
        new = archive.next_path("outcomes")
        title = os.path.basename(new)[:-len(".md")]
        archive.write(new, outcome(name, fields, why, level, day).replace("NAME", title, 1))
    archive.write(path, archive.changed(text, status="closed", exit_reason=why))


def complete(path, text, _, why, level):
    """Ends the tracking of a counterfactual."""
    archive.write(path, archive.changed(text, status="completed", result=why, completed=archive.today()))


KINDS = {"expressions": (exit_of, close), "counterfactuals": (verdict_of, complete)}


def main():
    category, action = sys.argv[1:]
    decide, settle = KINDS[category]
    every = list(found(category, decide))
    for one in every:
        print(f"{one[2]}: {one[3]}")
        if action == "settle":
            settle(*one)
    raise SystemExit(1 if every and action == "check" else 0)


if __name__ == "__main__":
    main()
