"""Stores an analysis below session/results, where its full text can be read."""

import json
import os

import archive

own = os.environ["ID"]
text = f"# {own}\nby: {os.environ['SKILL']}\n---\n\n"
text += f"## SUMMARY\n{os.environ['SUMMARY']}\n\n## ANALYSIS\n{os.environ['ANALYSIS']}\n"
for counterargument in json.loads(os.environ["COUNTERARGUMENT"]):
    text += f"\n## STRONGEST COUNTERARGUMENT\n{counterargument}\n"
archive.put(f"session/results/{own}.md", text)
