//! What is shown of a skill before somebody signs for it, and after.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::study::Studied;
use super::trial::Tried;
use crate::cli::Workspace;
use crate::cli::approve::changed;
use crate::cli::revision::past_text;
use crate::report::{BAD, BOLD, DIM, GOOD, WARN, paint, plural};
use crate::skill::DeclaredScript;
use crate::skill::inspect::{Class, Issue, Rule, Told, language, private};
use crate::skill::lock::{Change, Locked, changes};
use crate::untrusted::untrusted;

/// What was found in a skill, line by line: dangers first, then what it needs, then the rest.
pub fn findings(studied: &Studied) -> String {
    let classes = [Class::Danger, Class::Need, Class::Quality];
    let all = classes.into_iter().flat_map(|class| studied.of(class));
    all.map(|issue| finding(studied, issue)).collect()
}

fn finding(studied: &Studied, issue: &Issue) -> String {
    let told = told(studied, issue);
    let style = match issue.class {
        Class::Danger => BAD,
        Class::Need => WARN,
        Class::Quality => DIM,
    };
    let mark = paint(style, &format!("{}[{}]:", told.class, told.code));
    let place = format!("{}:{}:{}", untrusted(&told.file), told.line, told.column);
    format!(
        "{mark} {place}: {}\n  {}\n",
        untrusted(&told.message),
        paint(DIM, &told.help)
    )
}

fn told(studied: &Studied, issue: &Issue) -> Told {
    Told::of(issue, studied.bundle.text(&issue.file).unwrap_or_default())
}

/// What came of trying the scripts, line by line.
pub fn tried(all: &[Tried]) -> String {
    let mut text = String::new();
    for one in all {
        let style = match one.result {
            "passed" => GOOD,
            "failed" => BAD,
            _ => WARN,
        };
        let what = if one.what == "syntax" {
            "syntax"
        } else {
            "dry run"
        };
        let why = if one.why.is_empty() {
            String::new()
        } else {
            format!(": {}", untrusted(&one.why))
        };
        let _ = writeln!(
            text,
            "{what} of {}: {}{why}",
            untrusted(&one.path),
            paint(style, one.result)
        );
    }
    text
}

/// A skill in a few lines: what its scripts may do, what it says it is, how many files it has.
pub fn summary(studied: &Studied) -> String {
    let mut text = format!("{}\n", paint(BOLD, &format!("the skill {}", studied.name)));
    for (path, script) in &studied.declared.scripts {
        text += &rights(path, script);
    }
    if studied.declared.scripts.is_empty() {
        text += "  declares no scripts: a step says what one of them may do\n";
    }
    if let Some(said) = studied.report.get("description").and_then(Value::as_str) {
        let _ = writeln!(text, "  {}", untrusted(said));
    }
    let files = &studied.bundle.files;
    let size: usize = files.values().map(|file| file.bytes.len()).sum();
    let size = crate::report::size(size as u64);
    let _ = writeln!(
        text,
        "  {}, {size}, {}",
        plural(files.len(), "file"),
        studied.bundle.digest()
    );
    text
}

/// What a script may do at most, line by line.
fn rights(path: &str, script: &DeclaredScript) -> String {
    let list = |paths: &[String]| -> Vec<String> {
        let aloud = |path: &String| match private(path) {
            Some((_, holds)) => paint(BAD, &format!("{} ({holds})", untrusted(path))),
            None => untrusted(path).to_string(),
        };
        paths.iter().map(aloud).collect()
    };
    let mut read = vec!["the workspace".to_owned()];
    read.extend(list(&script.read));
    let write = list(&script.write);
    let exec = match &script.exec {
        None => "every program that it can read".to_owned(),
        Some(exec) => list(exec).join(", "),
    };
    let nothing = |all: Vec<String>| {
        let is_empty = all.is_empty();
        if is_empty {
            "nothing".to_owned()
        } else {
            all.join(", ")
        }
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

/// The private places that scripts may read or that they name, and what is there.
pub fn places(studied: &Studied) -> Vec<String> {
    let declared = studied.declared.scripts.values().flat_map(|one| &one.read);
    let declared = declared.filter_map(|path| private(path));
    let named = studied.issues.iter();
    let named = named.filter(|issue| issue.rule == Rule::PrivatePlace);
    let named = named.filter_map(|issue| private(&issue.subject));
    let all: BTreeSet<String> = declared
        .chain(named)
        .map(|(part, holds)| {
            let home = if part.starts_with('.') { "~/" } else { "" };
            format!("{home}{part} ({holds})")
        })
        .collect();
    all.into_iter().collect()
}

/// SKILL.md and every script, in full; other files by size.
pub fn whole(studied: &Studied) -> String {
    let mut text = String::new();
    for (path, file) in &studied.bundle.files {
        let mark = if file.is_executable {
            " (can be executed)"
        } else {
            ""
        };
        let _ = writeln!(text, "\n{}{mark}", paint(BOLD, &untrusted(path)));
        let is_read =
            path == "SKILL.md" || file.is_executable || language(path, &file.bytes).is_some();
        if let Some(content) = studied.bundle.text(path).filter(|_| is_read) {
            for line in content.lines() {
                let _ = writeln!(text, "  {}", untrusted(line));
            }
        } else {
            let size = crate::report::size(file.bytes.len() as u64);
            let _ = writeln!(text, "  {size}, {}", crate::digest::Digest::of(&file.bytes));
        }
    }
    text
}

/// What is different from what was locked before.
pub fn differences(workspace: &Workspace, before: &Locked, studied: &Studied) -> String {
    let all = changes(&before.files, &studied.bundle);
    if all.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", paint(BOLD, "since it was locked before"));
    for change in &all {
        let _ = writeln!(text, "  {}", untrusted(&change.to_string()));
        text.push_str(&lines(workspace, before, studied, change));
    }
    text
}

fn lines(workspace: &Workspace, before: &Locked, studied: &Studied, change: &Change) -> String {
    let path = format!("{}/{}", before.folder, change.path);
    let known = before.files.get(&change.path);
    let old = known.and_then(|file| past_text(&workspace.root, &path, file.digest));
    match (old, studied.bundle.text(&change.path)) {
        (Some(old), Some(new)) if old != new => changed(&old, new),
        _ => String::new(),
    }
}

/// One document of what was done with a skill.
pub fn document(
    studied: &Studied,
    locked: Option<&Locked>,
    all: &[Tried],
    approvals: &Approvals,
) -> Value {
    json!({
        "skill": studied.name,
        "installed": locked.is_some(),
        "folder": locked.map(|locked| locked.folder.clone()),
        "source": locked.map(|locked| locked.source.clone()),
        "commit": locked.and_then(|locked| locked.commit.clone()),
        "digest": studied.bundle.digest().to_string(),
        "report": studied.report,
        "granted": locked.map(|locked| &locked.granted),
        "exceptions": locked.map(|locked| &locked.exceptions),
        "tried": all,
        "approved": approvals.holds,
        "missing": approvals.why,
    })
}

/// Whether the approvals of a skill hold, and what is missing if not.
#[derive(Default)]
pub struct Approvals {
    /// Whether they do.
    pub holds: bool,
    /// What is missing.
    pub why: Option<String>,
}
