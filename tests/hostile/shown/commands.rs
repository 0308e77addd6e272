//! The commands that texts of others are tried through.

use crate::support::Sandbox;

/// Every command that shows something, after a run; `TEXT` is the text, `PATH` the file of a plan, `BAD`
/// one with mistakes.
pub(super) const LATER: &[&[&str]] = &[
    &["show", "--last"],
    &["show", "--last", "--rounds"],
    &["show", "--last", "--json"],
    &["runs"],
    &["runs", "--json"],
    &["logs", "--last"],
    &["logs", "--last", "--timestamps"],
    &["logs", "--last", "--json"],
    &["logs", "--last", "kept"],
    &["logs", "--last", "-f"],
    &["memory", "export"],
    &["goal", "feedback", "g", "good", "--note", "TEXT"],
    &["why", "--last", "kept"],
    &["why", "--last", "each"],
    &["why", "--last", "each[0]"],
    &["why", "--last", "checked"],
    &["why", "--last", "gated"],
    &["why", "--last", "asked", "--json"],
    &["why", "--last", "absent"],
    &["why", "--last", "TEXT"],
    &["why", "--last"],
    &["graph", "plan.md"],
    &["graph", "plan.md", "--format", "svg"],
    &["graph", "plan.md", "--format", "dot"],
    &["diff", "plan.md", "PATH"],
    &["diff", "--last"],
    &["diff", "--last", "--json"],
    &["diff", "TEXT", "--last"],
    &["check"],
    &["check", "BAD"],
    &["check", "BAD", "--format", "json"],
    &["check", "broken.md"],
    &["check", "broken.md", "--format", "json"],
    &["check", "broken.md", "--format", "sarif"],
    &["list"],
    &["list", "--json"],
    &["run", "TEXT"],
    &["run", "broken.md"],
    &["run", "plan.md", "--dry-run"],
    &["run", "plan.md", "--param", "p=TEXT", "--dry-run"],
    &["run", "plan.md", "--param", "TEXT=x"],
    &["run", "PATH", "-q"],
    &["show", "--last"],
    &["retry", "--last", "--dry-run"],
    &["undo", "--last"],
    &["suggestion", "list"],
    &["suggestion", "list", "--all", "--json"],
    &["suggestion", "accept", "1"],
    &["suggestion", "dismiss", "1"],
    &["replan", "explain", "--last"],
    &["verify", "--last"],
    &["approve", "plan.md"],
    &["approve", "--last"],
    &["answer", "--last", "--text", "TEXT", "--yes"],
    &["deny", "--last", "--reason", "TEXT", "--yes"],
    &["resume", "--last"],
    &["show", "--last"],
    &["goal", "list"],
    &["goal", "show", "g"],
    &["goal", "next", "g"],
    &["goal", "run", "g"],
    &["goal", "history", "g"],
    &["goal", "history", "g", "--json"],
    &["goal", "show", "TEXT"],
    &["gate", "list"],
    &["gate", "own"],
    &["memory", "list"],
    &["memory", "query"],
    &["skill", "list"],
    &["skill", "show", "odd"],
    &["skill", "validate", "skills/odd"],
    &["skill", "show", "TEXT"],
    &["audit", "report"],
    &["audit", "verify"],
    &["audit", "tail"],
    &["attest", "--last"],
    &["gate", "test", "own"],
    &["gate", "test", "own", "--context", "TEXT"],
    &["goal", "accept", "TEXT"],
    &["goal", "accept", "g", "--yes"],
    &["goal", "autonomy"],
    &["goal", "autonomy", "g", "--json"],
    &["goal", "backfill", "g", "--from", "2020-01-01T00:00:00Z", "--to", "2020-01-05T00:00:00Z", "--dry-run"],
    &["goal", "pause", "g", "--reason", "TEXT"],
    &["goal", "list", "--json"],
    &["goal", "show", "g"],
    &["goal", "resume", "g"],
    &["goal", "deploy", "TEXT"],
    &["goal", "deploy", "g"],
    &["goal", "sync", "TEXT"],
    &["goal", "recall", "TEXT"],
    &["goal", "tighten", "g"],
    &["queue", "list"],
    &["queue", "list", "--json"],
    &["queue", "inspect", "slot-g"],
    &["queue", "inspect", "TEXT"],
    &["queue", "requeue", "TEXT"],
    &["queue", "requeue", "slot-g"],
    &["sim", "goals", "--list"],
    &["sim", "goals", "TEXT"],
    &["sim", "goals", "--takes", "TEXT=1m"],
    &["daemon", "--once"],
    &["daemon", "--once", "--branch", "TEXT"],
    &["daemon", "--health", "TEXT"],
    &["connection", "list"],
    &["connection", "show", "TEXT"],
    &["connection", "check", "TEXT"],
    &["connection", "add", "TEXT", "--skill", "odd"],
    &["connection", "add", "c", "--skill", "odd", "--hint", "TEXT=TEXT"],
    &["connection", "approve", "TEXT", "--skill", "odd"],
    &["connection", "remove", "TEXT"],
    &["skill", "search", "odd"],
    &["skill", "search", "TEXT"],
    &["skill", "read-properties", "skills/odd"],
    &["skill", "import", "skills/odd", "--name", "other", "--dry-run"],
    &["skill", "import", "skills/odd", "--name", "TEXT"],
    &["skill", "import", "TEXT"],
    &["skill", "install", "TEXT"],
    &["skill", "lock", "odd", "--yes"],
    &["skill", "lock", "--check"],
    &["skill", "report", "odd"],
    &["skill", "approve", "odd", "--yes"],
    &["skill", "update", "odd"],
    &["skill", "remove", "TEXT"],
    &["key", "list"],
    &["key", "init", "TEXT"],
    &["key", "import", "TEXT"],
    &["key", "revoke", "TEXT"],
    &["key", "enrol", "TEXT", "TEXT", "--yes"],
    &["key", "enrol", "TEXT", "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "--yes"],
    &["serve", "--listen", "TEXT"],
    &["serve", "--public-url", "TEXT"],
    &["key", "export", "TEXT"],
    &["key", "rotate", "TEXT"],
    &["key", "check-signature", "--public-key", "TEXT", "--message", "text", "--signature", "TEXT"],
    &["connection", "grant", "TEXT", "TEXT"],
    &["memory", "feedback", "TEXT", "TEXT"],
    &["audit", "checkpoint", "TEXT"],
    &["memory", "dream"],
    &["memory", "add", "TEXT"],
    &["memory", "explain", "TEXT"],
    &["memory", "forget", "TEXT"],
    &["memory", "import", "TEXT"],
    &["memory", "sign", "TEXT"],
    &["memory", "search", "TEXT"],
    &["memory", "trust", "TEXT", "verified"],
    &["memory", "promote", "TEXT"],
    &["session", "new", "TEXT"],
    &["session", "new", "a"],
    &["session", "suspend", "a", "--reason", "TEXT"],
    &["session", "list"],
    &["session", "show", "a"],
    &["session", "show", "a", "--json"],
    &["session", "resume", "a"],
    &["session", "switch", "TEXT"],
    &["session", "complete", "a", "--promote", "TEXT"],
    &["session", "fail", "a", "--reason", "TEXT"],
    &["session", "show", "TEXT"],
    &["mcp", "pin", "TEXT"],
    &["import", "sylk", "TEXT", "--dir", "TEXT"],
    &["replan", "explain", "TEXT"],
    &["cancel", "TEXT"],
    &["plan", "TEXT"],
    &["plan", "--revise", "plan.md", "TEXT"],
    &["replay", "TEXT"],
    &["backup", "TEXT"],
    &["restore", "TEXT"],
    &["schema", "TEXT"],
    &["completions", "TEXT"],
    &["init", "TEXT"],
    &["-C", "TEXT", "runs"],
    &["doctor"],
    &["doctor", "--json"],
    &["TEXT"],
];

/// The commands that are not tried: what they write is for a program, as it is, where their output is no terminal.
const UNTRIED: [&str; 2] = ["mcp serve", "skill to-prompt"];

/// A command that is added is tried, too.
#[test]
fn every_command_is_tried() {
    let place = Sandbox::new();
    let mut groups: Vec<Vec<String>> = vec![Vec::new()];
    let mut missing = Vec::new();
    while let Some(group) = groups.pop() {
        for name in below(&place, &group) {
            let mut path = group.clone();
            path.push(name);
            if !below(&place, &path).is_empty() {
                groups.push(path);
                continue;
            }
            let is_tried = LATER.iter().any(|args| path.iter().eq(args.iter().take(path.len())));
            if !is_tried && !UNTRIED.contains(&path.join(" ").as_str()) {
                missing.push(path.join(" "));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

/// The commands below one, as its help lists them.
fn below(place: &Sandbox, group: &[String]) -> Vec<String> {
    let mut args: Vec<&str> = group.iter().map(String::as_str).collect();
    args.push("-h");
    let help = place.wf(&args).exits(0).out;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  "));
    let names = names.filter(|line| !line.starts_with(' '));
    let names = names.filter_map(|line| line.split(' ').next());
    names.filter(|name| *name != "help").map(Into::into).collect()
}
