"""What the archive knows about an output: the portfolio, the calibration of its category, process knowledge about the focus."""

import json
import os

import archive


def calibration(output):
    """The first category that the output names."""
    for path, text in archive.records("calibration"):
        if os.path.basename(path)[:-len(".md")].replace("_", " ") in output.lower():
            return text
    return ""


def knowledge(focus):
    """At most five pieces with a weight of 0.4 and a word of the focus in their header."""
    words = [word for word in focus.lower().split() if len(word) > 3]
    headers = [archive.header(text) for _, text in archive.records("pk")
               if float(archive.parse(text)[0].get("weight", 0)) >= 0.4]
    return "\n---\n".join([it for it in headers if any(word in it.lower() for word in words)][:5])


def main():
    told = {"portfolio": archive.read("portfolio/state.md"), "calibration": calibration(os.environ["OUTPUT"]),
            "knowledge": knowledge(os.environ["FOCUS"])}
    with open(os.environ["WF_OUTPUT"], "a", encoding="utf-8") as outputs:
        print(json.dumps(told), file=outputs)


if __name__ == "__main__":
    main()
