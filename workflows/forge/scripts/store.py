"""Stores an analysis or a review below session/results, where its full text can be read."""

import json
import os
import sys

import archive


def analysis(given):
    """The file of an analysis, with the counterargument if one was looked for."""
    text = f"# {given['ID']}\nby: {given['SKILL']}\n---\n\n## SUMMARY\n{given['SUMMARY']}\n\n## ANALYSIS\n{given['ANALYSIS']}\n"
    return text + "".join(f"\n## STRONGEST COUNTERARGUMENT\n{it}\n" for it in json.loads(given["COUNTERARGUMENT"]))


def review(given):
    """The file of a review."""
    return (f"# {given['ID']}\nverdict: {given['VERDICT']}\n---\n\n## SUMMARY\n{given['REASONING']}\n\n"
            f"## CHANGES\n{given['CHANGES']}\n")


if __name__ == "__main__":
    archive.put(f"session/results/{os.environ['ID']}.md", {"analysis": analysis, "review": review}[sys.argv[1]](os.environ))
