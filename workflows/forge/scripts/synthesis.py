"""Gathers what a synthesis is made of, compares it with the archive, and records it there."""

import json
import os
import re
import sys

import archive


def view_path(name):
    """The file of a View."""
    return f"memory/views/{name}.md"


def expression_path(name):
    """The file of an Expression."""
    return f"memory/expressions/{name}.md"


def scenarios(text):
    """The probabilities of a View's scenarios, by their names."""
    section = text.partition("\n## SCENARIOS\n")[2].partition("\n## ")[0]
    return {name: float(value) for name, value in re.findall(r"^- ([^:\n]+): ([0-9.]+)$", section, flags=re.MULTILINE)}


def of_view(update, text):
    """What does not fit a View as the archive has it."""
    name, now, prior = update["view_id"], update["updated_confidence"], float(archive.parse(text)[0]["confidence"])
    if abs(prior - update["prior_confidence"]) > 0.005:
        yield f"{name} has a confidence of {prior}, not {update['prior_confidence']}"
    wrong = {"strengthened": now <= prior, "weakened": now >= prior, "unchanged": abs(now - prior) > 0.005}
    if wrong.get(update["direction"]):
        yield f"{name} is not {update['direction']} from {prior} to {now}"
    known = scenarios(text)
    for it in update["scenario_changes"]:
        if abs(known.get(it["scenario"], 2) - it["prior_probability"]) > 0.005:
            yield f"{name} has no scenario `{it['scenario']}` with a probability of {it['prior_probability']}"
    known.update({it["scenario"]: it["updated_probability"] for it in update["scenario_changes"]})
    if sum(known.values()) > 1.005:
        yield f"the scenarios of {name} are more than 1 together"


def mistakes(views, expressions):
    """What does not fit the archive."""
    for names in ([it["view_id"] for it in views], [it["expression_id"] for it in expressions]):
        yield from (f"{name} is there twice" for name in sorted(set(names)) if names.count(name) > 1)
    for it in views:
        if os.path.isfile(view_path(it["view_id"])):
            yield from of_view(it, archive.read(view_path(it["view_id"])))
        else:
            yield f"{it['view_id']} does not exist"
    for it in expressions:
        if not os.path.isfile(expression_path(it["expression_id"])):
            yield f"{it['expression_id']} does not exist"


def updated(text, update, day):
    """A View after an update."""
    status = {"status": "invalidated"} if update["direction"] == "invalidated" else {}
    for it in update["scenario_changes"]:
        line = f"- {it['scenario']}: {it['updated_probability']}"
        text = re.sub(rf"^- {re.escape(it['scenario'])}: [0-9.]+$", lambda _, line=line: line, text, flags=re.MULTILINE)
    text = archive.changed(text, confidence=update["updated_confidence"], updated=day, **status)
    return text.rstrip() + f"\n\n## {day}\n{update['direction']}: {update['key_evidence']}\n"


def concerned(views, expressions):
    """The Expressions that a person must look at, and why."""
    for it in expressions:
        if it["action"] != "hold":
            yield it["expression_id"], f"{it['action']} ({it['urgency']}) {it['adjustment']}".strip()
    for it in views:
        if it["direction"] == "invalidated":
            for name in archive.parse(archive.read(view_path(it["view_id"])))[0].get("expressions", "").split():
                yield name, f"{it['view_id']} is invalidated"


def block(views, expressions, given):
    """The output, as the portfolio manager reads it."""
    lines = ["# synthesis", "---", "", "## SUMMARY", given["SUMMARY"], "", "## VIEW UPDATES"]
    lines += [f"- {json.dumps(it)}" for it in views] + ["", "## EXPRESSION IMPLICATIONS"]
    lines += [f"- {json.dumps(it)}" for it in expressions]
    lines += ["", "## OPEN QUESTIONS", given["OPEN_QUESTIONS"], "", "## NEXT ACTIONS", given["NEXT_ACTIONS"]]
    return "\n".join(lines) + "\n"


def gather():
    names = json.loads(os.environ["ANALYSES"])
    paths = ["session/integration_brief.md"] + [f"session/results/{name}.md" for name in names]
    missing = [path for path in paths if not os.path.isfile(path)]
    if missing:
        archive.refuse(f"a synthesis needs {missing[0]}", "write the brief, and name analyses that ended well")
    texts = [archive.read(path) for path in paths]
    with open(os.environ["WF_OUTPUT"], "a", encoding="utf-8") as outputs:
        print(json.dumps({"brief": texts[0], "analyses": "\n\n".join(texts[1:])}), file=outputs)


def record(views, expressions):
    day = archive.today()
    for name, why in concerned(views, expressions):
        text = archive.read(expression_path(name))
        if archive.parse(text)[0]["status"] in ("active", "review_required"):
            archive.write(expression_path(name), archive.changed(text, status="review_required", reason=why))
    for it in views:
        archive.write(view_path(it["view_id"]), updated(archive.read(view_path(it["view_id"])), it, day))
    archive.put("session/results/synthesis.md", block(views, expressions, os.environ))


def main():
    if sys.argv[1] == "gather":
        return gather()
    views, expressions = (json.loads(os.environ[name]) for name in ("VIEW_UPDATES", "EXPRESSION_IMPLICATIONS"))
    found = list(mistakes(views, expressions))
    if found:
        archive.refuse("\n".join(found), "read the Views and Expressions again")
    if sys.argv[1] == "record":
        record(views, expressions)


if __name__ == "__main__":
    main()
