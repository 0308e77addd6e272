"""Weighs what runs recorded, and writes a proposal for each pattern that passes the bar.

Exit codes: 0 done, also without a proposal; 2 cannot be done.
"""

import difflib
import hashlib
import json
import os
import re
import sys
from collections import namedtuple
from types import SimpleNamespace

# The least number of runs, or of lessons, that must speak for a change. No argument lowers it.
BAR = 5
# The least weight of a lesson that counts.
WEIGHT = 0.4
MOST_BYTES = 200 * 1024 * 1024
LONGEST = 160
SKILL = re.compile(r"[^\s/._-]+(-[^\s/._-]+)*")
SCRIPT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")
MISTAKE = re.compile(r"error|fatal|fail|refus|cannot|denied|not found|no such|unknown|invalid|panic", re.IGNORECASE)
HEADING = "## Known pitfalls"

# What one run says of one step. `condition` is what a contradiction has in common with it.
Seen = namedtuple("Seen", "run root skill script digest condition pattern cause signature remedy")
# A pattern with the runs for and against it.
Weighed = namedtuple("Weighed", "skill script pattern cause signature remedy runs against digest")
# The lessons about a skill: the ids of those for and against a change, and what each says.
Learned = namedtuple("Learned", "skill ids against lessons")
# What a proposal says: the lines that are new, what speaks for them, and why.
Change = namedtuple("Change", "skill lines count against why")


def refuse(what, remedy):
    """Ends with what is wrong and what to do."""
    print(f"propose: {what}\nremedy: {remedy}", file=sys.stderr)
    raise SystemExit(2)


# What follows decides, and asks nobody.

def plain(text):
    """Somebody's text on one line, without what Markdown or a terminal would read into it."""
    text = "".join(char if char.isprintable() else " " for char in text)
    text = re.sub(r"[`<>\[\]|*#{}\\]", "'", text)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[:LONGEST - 1] + "…"


def signature(log):
    """What a message is without what differs from run to run."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    lines = [line for line in lines if not line.lower().startswith("remedy:")]
    told = [line for line in lines if MISTAKE.search(line)] or lines
    if not told:
        return ""
    text = re.sub(r"\"[^\"]*\"|'[^']*'|`[^`]*`", "'…'", told[-1])
    text = re.sub(r"(?:\.{0,2}/)?(?:[\w.@+-]+/)+[\w.@+-]*|(?<!\S)/[\w.@+-]+", "PATH", text)
    text = re.sub(r"\b[0-9a-fA-F]{8,}\b", "H", text)
    return plain(re.sub(r"\d+", "N", text))


def remedy(log):
    """What a script said is to be done."""
    lines = [line.strip() for line in log.splitlines()]
    told = [line[len("remedy:"):] for line in lines if line.lower().startswith("remedy:")]
    return plain(told[-1]) if told else ""


def script_of(work, approved):
    """The skill, the script and its digest, where a run was approved with it."""
    if not (isinstance(work, str) and work.startswith("skill ")):
        return None
    skill, _, script = work[len("skill "):].partition("/")
    if not (SKILL.fullmatch(skill) and SCRIPT.fullmatch(script)):
        return None
    for file in approved.get("skills") or []:
        if file["path"].endswith(f"/{skill}/{script}") or file["path"] == f"{skill}/{script}":
            return skill, script, file["digest"]
    return None


def outcome(step, shown, log):
    """How a step of a skill went: the pattern, its cause, signature and remedy; None: nothing to learn."""
    own = [it for it in shown.get("attempts", []) if it["step"] == step["step"] and it["item"] is None]
    own.sort(key=lambda attempt: attempt["attempt"])
    if step["state"] == "failed":
        # Work that ended well was refuted: what it printed is not why.
        if own and own[-1].get("exit") == {"kind": "code", "code": 0}:
            log = ""
        told = signature(log) or plain(re.sub(r"\d+", "N", step.get("reason") or "without a message"))
        return "failed", step.get("failure_class") or "unknown", told, remedy(log)
    if step["state"] != "succeeded" or step.get("cache_key") or step.get("reused_from"):
        return None
    if len(own) < 2:
        return "clean", "", "", ""
    before = own[-2]
    refuted = sorted({check["verdict"]["name"] for check in shown.get("checks", [])
                      if check["step"] == step["step"] and check["item"] is None
                      and check["attempt"] == before["attempt"] and check["verdict"]["ruling"] != "pass"})
    if refuted:
        return "corrected", "check", plain(", ".join(refuted)), ""
    return "retried", before.get("failure_class") or "unknown", "it holds when it is tried again", ""


def roots(runs):
    """The run at the beginning of each chain of retries."""
    back = {run["show"]["run"]["id"]: run["show"]["run"].get("retry_of") for run in runs}

    def root(run):
        seen = set()
        while back.get(run) and run not in seen:
            seen.add(run)
            run = back[run]
        return run
    return {run: root(run) for run in back}


def observed(lines):
    """What all runs say of steps of skills."""
    runs = {}
    for line in lines:
        if line.get("kind") == "run":
            runs[line["show"]["run"]["id"]] = line
    root = roots(runs.values())
    found = []
    for line in runs.values():
        shown, run = line["show"], line["show"]["run"]
        for step in shown["steps"]:
            ran = script_of(line.get("works", {}).get(step["step"]), shown.get("approved") or {})
            if ran is None or step.get("item") is not None:
                continue
            how = outcome(step, shown, line.get("logs", {}).get(step["step"]) or "")
            if how is not None:
                condition = (run["plan"], step["step"], json.dumps(run.get("params"), sort_keys=True))
                found.append(Seen(run["id"], root[run["id"]], *ran, condition, *how))
    return found


def remembered(lines):
    """The steps that memory speaks for, as `PLAN/STEP`."""
    megrams = [it for line in lines if line.get("kind") == "memory" for it in line["megrams"]]
    return {it["space"][len("tool:"):] for it in megrams
            if it["space"].startswith("tool:") and it["sigma"] > 0}


def weigh(lines, digests):
    """The patterns, each with the runs for and against it.

    `digests` gives the digest of a script of a skill as it is now.
    """
    seen = [it for it in observed(lines) if it.digest == digests(it.skill, it.script)]
    praised = remembered(lines)
    groups = {}
    for it in seen:
        if it.pattern != "clean":
            groups.setdefault((it.skill, it.script, it.pattern, it.cause, it.signature), []).append(it)
    weighed = []
    for (skill, script, pattern, cause, told), own in sorted(groups.items()):
        conditions = {it.condition for it in own}
        against = {it.root for it in seen if it.pattern == "clean" and it.condition in conditions
                   and (it.skill, it.script) == (skill, script)}
        against |= {f"memory of {plan}/{step}" for plan, step, _ in conditions if f"{plan}/{step}" in praised}
        remedies = {it.remedy for it in own}
        weighed.append(Weighed(skill, script, pattern, cause, told, remedies.pop() if len(remedies) == 1 else "",
                               sorted({it.root for it in own}), sorted(against), own[0].digest))
    return weighed


def learn(lines):
    """The lessons about each skill that weigh enough; what contradicts the skill is against, whatever it weighs."""
    groups = {}
    for line in lines:
        if line.get("kind") == "lesson":
            if not SKILL.fullmatch(line["skill"]) or line["stance"] not in ("supports", "contradicts"):
                raise TypeError("a lesson names a skill, and supports or contradicts")
            groups.setdefault(line["skill"], {})[line["id"]] = line
    learned = []
    for skill, own in sorted(groups.items()):
        against = sorted(it for it, line in own.items() if line["stance"] == "contradicts")
        ids = sorted(it for it, line in own.items() if line["stance"] == "supports" and float(line["weight"]) >= WEIGHT)
        learned.append(Learned(skill, ids, against, [plain(own[it]["lesson"]) for it in ids]))
    return learned


def short_of(count, against, bar, what):
    """What is missing for a proposal; None: nothing."""
    short = []
    if count < bar:
        short.append(f"{bar - count} more {what} ({count} of {bar})")
    if against:
        short.append(f"an explanation of what contradicts it: {', '.join(against)}")
    return " and ".join(short) or None


def entry(weighed):
    """What the skill should say."""
    script = f"`{weighed.script}`"
    if weighed.pattern == "failed":
        text = f"{script} fails ({weighed.cause}) with `{weighed.signature}`."
        return f"- {text} What it says to do: `{weighed.remedy}`." if weighed.remedy else f"- {text}"
    if weighed.pattern == "corrected":
        return f"- {script} does not hold at first: see to `{weighed.signature}` before it is believed."
    return f"- {script} fails by chance ({weighed.cause}) and holds when it is tried again: give its step `retry`."


def of_runs(weighed):
    """What runs say is to be changed."""
    why = [f"The pattern is `{weighed.pattern}` of `{weighed.script}`, cause `{plain(weighed.cause)}`. "
           f"The script had the SHA-256 `{weighed.digest}` each time.",
           "\n".join(f"- run `{plain(run)}`" for run in weighed.runs)]
    return Change(weighed.skill, [entry(weighed)], f"{len(weighed.runs)} runs", len(weighed.against), why)


def of_lessons(learned):
    """What lessons say is to be changed; the same lesson is told once."""
    why = ["These lessons speak for it, and none contradicts.",
           "\n".join(f"- `{plain(it)}`: {lesson}" for it, lesson in zip(learned.ids, learned.lessons))]
    lines = [f"- {lesson}" for lesson in dict.fromkeys(learned.lessons)]
    return Change(learned.skill, lines, f"{len(learned.ids)} lessons", len(learned.against), why)


def changed(text, line):
    """The text of SKILL.md with one more pitfall."""
    lines = text.split("\n")[:-1]
    heads = [at for at, it in enumerate(lines) if it.rstrip() == HEADING]
    if not heads:
        return text + ("" if text.endswith("\n\n") else "\n") + f"{HEADING}\n\n{line}\n"
    end = next((at for at in range(heads[0] + 1, len(lines)) if re.match(r"#{1,2} ", lines[at])), len(lines))
    while end > heads[0] + 1 and not lines[end - 1].strip():
        end -= 1
    gap = [""] if end == heads[0] + 1 else []
    return "\n".join(lines[:end] + gap + [line] + lines[end:]) + "\n"


def quote(text):
    """What stands where the change goes."""
    lines = text.split("\n")[:-1]
    heads = [at for at, it in enumerate(lines) if it.rstrip() == HEADING]
    part = lines[heads[0]:heads[0] + 20] if heads else lines[-5:]
    return "\n".join(f"> {line}".rstrip() for line in part)


def proposal(change, text, path):
    """The id and the text of a proposal; None: the skill says it already."""
    new = [line for line in change.lines if line not in text.split("\n")]
    if not new:
        return None
    after = text
    for line in new:
        after = changed(after, line)
    base = hashlib.sha256(text.encode()).hexdigest()
    own = hashlib.sha256("\0".join([change.skill, path, base, *new]).encode()).hexdigest()[:12]
    diff = "\n".join(difflib.unified_diff(text.split("\n")[:-1], after.split("\n")[:-1],
                                          f"a/{path}", f"b/{path}", lineterm=""))
    # No line of the skill can end the block.
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", diff)), default=0))
    about = json.dumps({"proposal": own, "skill": change.skill, "file": path, "base": base})
    parts = [
        f"<!-- {about} -->",
        f"# A change to the skill {change.skill}",
        f"{change.count} speak for it, {change.against} against it.",
        "## What exists", f"The file `{path}`, with the SHA-256 `{base}`:", quote(text),
        "## What should change", f"{fence}diff\n{diff}\n{fence}",
        "## Why", *change.why,
        "Nothing is changed by this file. Whoever approves it says that the text above may stand in the skill.",
    ]
    return own, "\n\n".join(parts) + "\n"


# What follows reads and writes.

def read(path):
    """The lines of a file of evidence."""
    try:
        if os.path.getsize(path) > MOST_BYTES:
            refuse(f"the evidence has more than {MOST_BYTES} bytes: {path}", "gather fewer runs: --limit")
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.strip()]
    except (OSError, ValueError) as error:
        refuse(f"the evidence cannot be read: {path}: {error}", "write it with gather.py")
    if not all(isinstance(line, dict) for line in lines):
        refuse(f"this is no evidence: {path}", "write it with gather.py")
    return lines


def bytes_of(places, skill, path):
    """The content of a file of a skill, and its folder; None: it is not there."""
    for place in places:
        folder = os.path.join(place, skill)
        if os.path.isfile(os.path.join(folder, "SKILL.md")):
            try:
                with open(os.path.join(folder, path), "rb") as file:
                    return file.read()
            except OSError:
                return None
    return None


def put(folder, own, text):
    """Writes a proposal: whole, or not at all."""
    path = os.path.join(folder, f"{own}.md")
    try:
        os.makedirs(folder, exist_ok=True)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".new", path)
    except (OSError, ValueError) as error:
        refuse(f"a proposal cannot be written: {error}", "give --out a folder that the step may write")
    return path


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
    args = arguments(evidence="many", skill="one", bar="one", skills="many", out="one")
    if not args.evidence or args.out == "":
        refuse("there is nothing to read, or nowhere to write", "give --evidence=FILE, and perhaps --out=FOLDER")
    args.out = args.out or "proposals"
    try:
        args.bar = BAR if args.bar is None else int(args.bar)
    except ValueError:
        refuse(f"--bar is no number: {args.bar!r}", f"leave it out, or give {BAR} or more")
    if args.bar < BAR:
        refuse(f"the bar cannot be lower than {BAR}", f"leave --bar out, or give more than {BAR}")
    places = args.skills or ["skills", ".agents/skills", ".claude/skills"]
    lines = [line for path in args.evidence for line in read(path)]

    def digest(skill, path):
        content = bytes_of(places, skill, path)
        return None if content is None else hashlib.sha256(content).hexdigest()

    try:
        judged = [(f"{it.skill}/{it.script}: {it.pattern}: {it.signature}",
                   short_of(len(it.runs), it.against, args.bar, "runs"), of_runs(it)) for it in weigh(lines, digest)]
        judged += [(f"{it.skill}: lessons", short_of(len(it.ids), it.against, args.bar, "lessons"), of_lessons(it))
                   for it in learn(lines)]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        refuse(f"this is no evidence: {type(error).__name__}: {error}", "write it with gather.py of this version")
    found, missing = [], []
    for name, short, change in judged:
        if args.skill not in (None, change.skill):
            continue
        text = (bytes_of(places, change.skill, "SKILL.md") or b"").decode("utf-8", "replace")
        if short is None and (not text.endswith("\n") or "\r" in text):
            short = "a SKILL.md whose lines all end with a line feed"
        made = None if short else proposal(change, text, "SKILL.md")
        if made is not None:
            path = put(args.out, *made)
            found.append({"id": made[0], "path": path, "skill": change.skill, "text": made[1],
                          "digest": hashlib.sha256(made[1].encode()).hexdigest()})
        else:
            missing.append(f"{name}: " + (f"missing: {short}" if short else "the skill says it already"))
    if not judged:
        missing.append("no run of a skill's script, as it is now, and no lesson says anything")
    result = json.dumps({"proposals": len(found), "found": found, "missing": missing})
    for line in missing:
        print(line)
    for it in found:
        print(f"proposed: {it['path']}")
    if os.environ.get("WF_OUTPUT"):
        with open(os.environ["WF_OUTPUT"], "a", encoding="utf-8") as outputs:
            print(result, file=outputs)
    else:
        print(result)


if __name__ == "__main__":
    main()
