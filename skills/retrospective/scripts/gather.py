"""Asks wf for what its runs recorded, and writes it as lines of JSON.

It runs outside of the sandbox: nothing in it can reach the state of wf.
Exit codes: 0 done, 2 cannot be done.
"""

import json
import os
import subprocess
import sys
import tempfile
from types import SimpleNamespace

TAIL = 40


def refuse(what, remedy):
    """Ends with what is wrong and what to do."""
    print(f"gather: {what}\nremedy: {remedy}", file=sys.stderr)
    raise SystemExit(2)


class Asked:
    """The program wf, with the state that is meant."""

    def __init__(self, program, state):
        self.head = [program] + (["--state", state] if state else [])

    def text(self, *words):
        """What it prints; None: it failed."""
        try:
            done = subprocess.run([*self.head, *words], capture_output=True, stdin=subprocess.DEVNULL, check=False)
        except OSError as error:
            refuse(f"wf cannot be started: {error}", "put wf on PATH, or name it: --wf=/path/to/wf")
        if done.returncode != 0:
            self.why = done.stderr.decode("utf-8", "replace").strip()
            return None
        return done.stdout.decode("utf-8", "replace")

    def json(self, *words):
        """The document it prints; None: it failed."""
        text = self.text(*words)
        try:
            return None if text is None else json.loads(text)
        except ValueError:
            return None


def works(wf, run):
    """What each step of a run's plan executes, if that can still be said."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(run.get("params") or {}, file)
        file.flush()
        told = wf.json("run", "--dry-run", "--json", "--params", file.name, run["path"])
    return {step["step"]: step["work"] for step in (told or {}).get("steps", [])}


def one(wf, found, known):
    """The line of one run; None: it cannot be shown."""
    shown = wf.json("show", found["id"], "--json")
    if shown is None:
        return None
    run = shown["run"]
    key = (run["path"], json.dumps(run.get("params"), sort_keys=True))
    if key not in known:
        known[key] = works(wf, run)
    logs = {}
    for step in shown["steps"]:
        if step["state"] == "failed" and step.get("item") is None:
            logs[step["step"]] = wf.text("logs", run["id"], step["step"], "--stderr", "--tail", str(TAIL)) or ""
    return {"kind": "run", "show": shown, "works": known[key], "logs": logs}


def arguments(**kinds):
    """The flags, each `one` value, `many`, or a `flag` without one."""
    given = {name: {"one": None, "many": [], "flag": False}[kind] for name, kind in kinds.items()}
    for word in sys.argv[1:]:
        flag, sign, value = word.partition("=")
        name = flag[2:].replace("-", "_")
        kind = kinds.get(name) if flag == "--" + name.replace("_", "-") else None
        if kind is None or (kind == "flag") == bool(sign):
            refuse(f"unknown argument: {word!r}", "a flag and its value are one word: --flag=VALUE")
        if kind == "many":
            given[name].append(value)
        else:
            given[name] = value if sign else True
    return SimpleNamespace(**given)


def main():
    args = arguments(wf="one", out="one", state="one", plan="one", limit="one")
    if not args.out:
        refuse("it is not said where to", "give --out=FILE")
    try:
        args.limit = 500 if args.limit is None else int(args.limit)
    except ValueError:
        args.limit = 0
    if not 0 < args.limit <= 100_000:
        refuse(f"--limit is not from 1 to 100000: {args.limit}", "say how many runs are looked at")
    wf = Asked(args.wf or "wf", args.state)
    only = ["--plan", args.plan] if args.plan else []
    runs = wf.json("runs", "--all", "--json", "--limit", str(args.limit), *only)
    if runs is None:
        refuse(f"wf lists no runs: {wf.why}", "run it in the workspace, or give --state")
    known, lines = {}, []
    for found in runs["runs"]:
        line = one(wf, found, known) if found["life"] != "running" else None
        if line is not None:
            lines.append(line)
    memory = wf.json("memory", "list", "--json")
    if memory is not None:
        lines.append({"kind": "memory", "megrams": memory["megrams"]})
    try:
        os.makedirs(os.path.dirname(args.out) or ".", exist_ok=True)
        with open(args.out + ".new", "w", encoding="utf-8") as file:
            for line in lines:
                print(json.dumps(line), file=file)
        os.replace(args.out + ".new", args.out)
    except (OSError, ValueError) as error:
        refuse(f"the evidence cannot be written: {error}", "give --out in a folder that can be written")
    told = json.dumps({"lines": len(lines)})
    if os.environ.get("WF_OUTPUT"):
        with open(os.environ["WF_OUTPUT"], "a", encoding="utf-8") as outputs:
            print(told, file=outputs)
    else:
        print(told)


if __name__ == "__main__":
    main()
