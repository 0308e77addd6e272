"""Puts together what an analyst is told: the skill, the context as deep as it is asked for, summaries of earlier analyses."""

import json
import os

import archive

FOLDERS = {"V-": "memory/views", "E-": "memory/expressions", "O-": "memory/observations", "L-": "memory/linkages",
           "PK-": "memory/pk", "OUT-": "memory/outcomes", "CF-": "memory/counterfactuals", "ctx_": "session/context"}
PLACES = {"portfolio": "portfolio/state.md", "gaps": "session/context/gaps.md",
          "integration_brief": "session/integration_brief.md"}


def path_of(name):
    """The file that a reference names."""
    folder = next((folder for prefix, folder in FOLDERS.items() if name.startswith(prefix)), "session/results")
    return PLACES.get(name, f"{folder}/{name}.md")


def resolve(reference):
    """The text of a reference: NAME, NAME:summary or NAME:header."""
    name, _, depth = reference.partition(":")
    if not os.path.isfile(path_of(name)):
        archive.refuse(f"the context `{reference}` does not exist: {path_of(name)}",
                       "name a file of the archive, a context or the result of an analysis")
    text = archive.read(path_of(name))
    return {"summary": archive.summary, "header": archive.header, "": str}[depth](text)


def inherited(task):
    """The task that is tried again: the same, with summaries for its context."""
    path = f"session/tasks/{task['retry_of']}.json"
    if not os.path.isfile(path):
        archive.refuse(f"cannot retry `{task['retry_of']}`: there is no such task", "give skill and objective instead")
    first = json.loads(archive.read(path))
    return {**task, "skill": first["skill"], "objective": first["objective"], "prior": task["prior"] or first["prior"],
            "context": [f"{reference.partition(':')[0]}:summary" for reference in first["context"]],
            "notes": f"RETRY of {task['retry_of']}. Simplified context.\n{first['notes']}".strip()}


def section(text, name):
    """A section of a skill."""
    return text.partition(f"\n## {name}\n")[2].partition("\n## ")[0].strip()


def main():
    given = {name: os.environ[name.upper()] for name in ("id", "skill", "objective", "notes", "retry_of")}
    task = {**given, "context": json.loads(os.environ["CONTEXT"]),
            "prior": json.loads(os.environ["PRIOR"])}
    if task["retry_of"]:
        task = inherited(task)
    if not (task["skill"] and task["objective"]):
        archive.refuse("an analysis needs a skill and an objective", "give both, or retry_of")
    skill = archive.read(f"skills/{task['skill']}/SKILL.md").split("\n---\n", 1)[1]
    archive.put(f"session/tasks/{task['id']}.json", json.dumps(task) + "\n")
    told = {"name": task["skill"], "objective": task["objective"], "notes": task["notes"], "skill": skill.strip(),
            "criteria": section(skill, "Eval Criteria"),
            "context": "\n\n".join(f"[{one}]\n{resolve(one)}" for one in task["context"]),
            "prior": "\n\n".join(f"[From {one}]\n{resolve(one + ':summary')}" for one in task["prior"])}
    told["contrastive"] = ["contrastive"] if os.environ["CONTRASTIVE"] == "true" else []
    with open(os.environ["WF_OUTPUT"], "a", encoding="utf-8") as outputs:
        print(json.dumps(told), file=outputs)


if __name__ == "__main__":
    main()
