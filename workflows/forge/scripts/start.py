"""What the desk is told first: stable things before what changes, some hundred words."""

import json
import os

import archive


def fields_of(category):
    """The name, the title and the fields of each file of a category."""
    for path, text in archive.records(category):
        yield os.path.basename(path)[:-len(".md")], text.splitlines()[0].lstrip("# "), archive.parse(text)[0]


def views():
    """The active views, with their confidence."""
    active = [(name, it) for name, _, it in fields_of("views") if it.get("status") == "active"]
    return f"{len(active)} active: " + " ".join(f"{name}({it.get('confidence')})" for name, it in active)


def knowledge():
    """The three pieces of process knowledge with the most weight, of at least 0.4."""
    found = [(float(it.get("weight", 0)), title) for _, title, it in fields_of("pk")]
    return "\n".join(title for weight, title in sorted(found, reverse=True)[:3] if weight >= 0.4)


def calibration():
    """The category with the worst bias."""
    found = [(abs(float(it.get("bias", 0))), name, it) for name, _, it in fields_of("calibration")]
    if not found:
        return "There is not enough data about the calibration."
    _, name, it = max(found, key=lambda one: one[:2])
    return f"{name}: bias {it['bias']} at a confidence of {it.get('band', 'any')}"


def main():
    told = {"views": views(), "knowledge": knowledge(), "calibration": calibration(),
            "portfolio": archive.header(archive.read("portfolio/state.md"))}
    with open(os.environ["WF_OUTPUT"], "a", encoding="utf-8") as outputs:
        print(json.dumps(told), file=outputs)


if __name__ == "__main__":
    main()
