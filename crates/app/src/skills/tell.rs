//! The description of a skill before it is signed for, and after.

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Value, json};

use super::trial::ScriptTrial;
use crate::{Host, Workspace, approve::changed_lines, revision::past_text, skills::InspectedSkill};
use wf_base::{
    units::plural,
    untrusted::{BAD, BOLD, DIM, GOOD, WARN, paint, untrusted},
};
use wf_skill::{
    ScriptDeclaration,
    inspect::{InspectionIssue, IssueClass, IssueRecord, Rule, language, private_content},
    lock::{LockedSkill, SkillFileChange, changes},
};

/// The findings in a skill, line by line: dangers first, then its needs, then the rest.
pub fn findings(inspected: &InspectedSkill) -> String {
    let classes = [IssueClass::Danger, IssueClass::Need, IssueClass::Quality];
    let issues = classes.into_iter().flat_map(|class| inspected.findings_of(class));
    issues.map(|issue| finding(inspected, issue)).collect()
}

fn finding(inspected: &InspectedSkill, issue: &InspectionIssue) -> String {
    let record = finding_text(inspected, issue);
    let style = match issue.class {
        IssueClass::Danger => BAD,
        IssueClass::Need => WARN,
        IssueClass::Quality => DIM,
    };
    let mark = paint(style, &format!("{}[{}]:", record.class, record.code));
    let place = format!("{}:{}:{}", untrusted(&record.file), record.line, record.column);
    format!("{mark} {place}: {}\n  {}\n", untrusted(&record.message), paint(DIM, &record.help))
}

fn finding_text(inspected: &InspectedSkill, issue: &InspectionIssue) -> IssueRecord {
    IssueRecord::from_issue(issue, inspected.bundle.text(&issue.file).unwrap_or_default())
}

/// The results of trying the scripts, line by line.
pub fn trials_text(trials: &[ScriptTrial]) -> String {
    let mut text = String::new();
    for trial in trials {
        let style = match trial.result {
            "passed" => GOOD,
            "failed" => BAD,
            _ => WARN,
        };
        let what = if trial.what == "syntax" { "syntax" } else { "dry run" };
        let reason =
            if trial.reason.is_empty() { String::new() } else { format!(": {}", untrusted(&trial.reason)) };
        let _ =
            writeln!(text, "{what} of {}: {}{reason}", untrusted(&trial.path), paint(style, trial.result));
    }
    text
}

/// A skill in a few lines: the rights of its scripts, its description, the number of its files.
pub fn summary(inspected: &InspectedSkill) -> String {
    let mut text = format!("{}\n", paint(BOLD, &format!("the skill {}", inspected.name)));
    for (path, script) in &inspected.declared.scripts {
        text += &rights(path, script);
    }
    if inspected.declared.scripts.is_empty() {
        text += "  declares no scripts: the step that runs one declares its permissions\n";
    }
    if let Some(description) = inspected.report.get("description").and_then(Value::as_str) {
        let _ = writeln!(text, "  {}", untrusted(description));
    }
    let files = &inspected.bundle.files;
    let size: usize = files.values().map(|file| file.bytes.len()).sum();
    let size = wf_base::units::size(size as u64);
    let _ = writeln!(text, "  {}, {size}, {}", plural(files.len(), "file"), inspected.bundle.digest());
    text
}

/// The maximum rights of a script, line by line.
fn rights(path: &str, script: &ScriptDeclaration) -> String {
    let list = |paths: &[String]| -> Vec<String> {
        let aloud = |path: &String| match private_content(path) {
            Some((_, holds)) => paint(BAD, &format!("{} ({holds})", untrusted(path))),
            None => untrusted(path).to_string(),
        };
        paths.iter().map(aloud).collect()
    };
    let mut read = vec!["the workspace".to_owned()];
    read.extend(list(&script.read));
    let write = list(&script.write);
    let exec = match &script.exec {
        None => "every program it can read".to_owned(),
        Some(exec) => list(exec).join(", "),
    };
    let nothing = |items: Vec<String>| {
        let is_empty = items.is_empty();
        if is_empty { "nothing".to_owned() } else { items.join(", ") }
    };
    let net = if script.net { "yes" } else { "no" };
    let mut text = format!("  {} may\n", untrusted(path));
    let mut line = |what: &str, value: &str| {
        let _ = writeln!(text, "    {what:<8} {value}");
    };
    line("read", &nothing(read));
    line("write", &nothing(write));
    line("execute", &exec);
    line("network", net);
    if !script.env.is_empty() {
        let env: Vec<&str> = script.env.iter().map(String::as_str).collect();
        line("env", &env.join(" "));
    }
    text
}

/// The private paths open to scripts or named by them, and the files there.
pub fn private_paths(inspected: &InspectedSkill) -> Vec<String> {
    let declared = inspected.declared.scripts.values().flat_map(|declaration| &declaration.read);
    let declared = declared.filter_map(|path| private_content(path));
    let named = inspected.issues.iter();
    let named = named.filter(|issue| issue.rule == Rule::PrivatePlace);
    let named = named.filter_map(|issue| private_content(&issue.subject));
    let names: BTreeSet<String> = declared
        .chain(named)
        .map(|(part, holds)| {
            let home = if part.starts_with('.') { "~/" } else { "" };
            format!("{home}{part} ({holds})")
        })
        .collect();
    names.into_iter().collect()
}

/// SKILL.md and every script, in full; other files by size.
pub fn full_text(inspected: &InspectedSkill) -> String {
    let mut text = String::new();
    for (path, file) in &inspected.bundle.files {
        let mark = if file.is_executable { " (executable)" } else { "" };
        let _ = writeln!(text, "\n{}{mark}", paint(BOLD, &untrusted(path)));
        let is_read = path == "SKILL.md" || file.is_executable || language(path, &file.bytes).is_some();
        if let Some(content) = inspected.bundle.text(path).filter(|_| is_read) {
            for line in content.lines() {
                let _ = writeln!(text, "  {}", untrusted(line));
            }
        } else {
            let size = wf_base::units::size(file.bytes.len() as u64);
            let _ = writeln!(text, "  {size}, {}", wf_base::digest::Sha256Digest::of_bytes(&file.bytes));
        }
    }
    text
}

/// The differences from the locked version.
pub fn differences(
    host: &Host,
    workspace: &Workspace,
    old_lock: &LockedSkill,
    inspected: &InspectedSkill,
) -> String {
    let skill_file_changes = changes(&old_lock.files, &inspected.bundle);
    if skill_file_changes.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", paint(BOLD, "since it was last locked"));
    for change in &skill_file_changes {
        let _ = writeln!(text, "  {}", untrusted(&change.to_string()));
        text.push_str(&lines(host, workspace, old_lock, inspected, change));
    }
    text
}

fn lines(
    host: &Host,
    workspace: &Workspace,
    old_lock: &LockedSkill,
    inspected: &InspectedSkill,
    change: &SkillFileChange,
) -> String {
    let path = format!("{}/{}", old_lock.folder, change.path);
    let locked_file = old_lock.files.get(&change.path);
    let old = locked_file.and_then(|file| past_text(host, workspace, &path, file.digest));
    match (old, inspected.bundle.text(&change.path)) {
        (Some(old), Some(new)) if old != new => changed_lines(&old, new),
        _ => String::new(),
    }
}

/// One document about the changes to a skill.
pub fn document(
    inspected: &InspectedSkill,
    locked: Option<&LockedSkill>,
    trials: &[ScriptTrial],
    approvals: &SkillApprovalState,
) -> Value {
    json!({
        "skill": inspected.name,
        "installed": locked.is_some(),
        "folder": locked.map(|locked| locked.folder.clone()),
        "source": locked.map(|locked| locked.source.clone()),
        "commit": locked.and_then(|locked| locked.commit.clone()),
        "digest": inspected.bundle.digest().to_string(),
        "report": inspected.report,
        "granted": locked.map(|locked| &locked.granted),
        "exceptions": locked.map(|locked| &locked.exceptions),
        "tried": trials,
        "approved": approvals.are_valid,
        "missing": approvals.reason,
    })
}

/// The validity of the approvals of a skill, and the missing ones.
#[derive(Default)]
pub struct SkillApprovalState {
    pub are_valid: bool,
    /// The missing part.
    pub reason: Option<String>,
}
