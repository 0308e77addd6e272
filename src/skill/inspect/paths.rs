use std::collections::BTreeSet;

use super::{Issue, Rule};
use crate::skill::{Bundle, Skill};

/// The folders whose files a skill names.
const FOLDERS: [&str; 3] = ["scripts", "references", "assets"];

/// The paths that `SKILL.md` names: those below the folders of a skill exist, and none leads out.
pub(super) fn paths(bundle: &Bundle, skill: &Skill) -> Vec<Issue> {
    let text = bundle.text("SKILL.md").unwrap_or_default();
    let mut issues = Vec::new();
    let mut said = BTreeSet::new();
    let ends = |c: char| c.is_whitespace() || "`\"'()[]<>{},;|=*$\\".contains(c);
    let mut at = 0;
    for piece in text.split_inclusive(ends) {
        let word = piece.trim_end_matches(ends);
        let word = word.trim_end_matches(['.', ':', '!', '?', '/']);
        if said.insert(word.to_owned()) {
            issues.extend(path(bundle, word, at));
        }
        at += piece.len();
    }
    issues.extend(outside(text, skill));
    issues
}

fn path(bundle: &Bundle, word: &str, at: usize) -> Option<Issue> {
    let bare = word.split('#').next().unwrap_or(word);
    let bare = bare.strip_prefix("./").unwrap_or(bare);
    let parts: Vec<&str> = bare.split('/').collect();
    let is_address = word.contains("://");
    if parts.contains(&"..")
        && parts.len() > 1
        && parts.iter().any(|part| FOLDERS.contains(part))
        && !is_address
    {
        let why = format!("{} leads out of the skill", word.escape_debug());
        return Some(Issue::new(Rule::PathOutside, "SKILL.md", at, why));
    }
    let begins = parts.first().is_some_and(|first| FOLDERS.contains(first));
    // A name without an ending may be a folder, or prose such as `scripts/references`.
    let is_file = parts.len() > 1
        && parts.last().is_some_and(|last| {
            last.rsplit_once('.')
                .is_some_and(|(name, end)| !name.is_empty() && !end.is_empty())
        });
    let is_there = bundle.files.contains_key(bare);
    (begins && is_file && !is_there).then(|| {
        let why = format!(
            "{} is named, and there is no such file",
            bare.escape_debug()
        );
        Issue::new(Rule::PathMissing, "SKILL.md", at, why)
    })
}

/// Links of the body to files outside: `[text](/etc/passwd)`, `[text](../other.md)`.
fn outside(text: &str, skill: &Skill) -> Vec<Issue> {
    let from = skill.body.range().start;
    let body = text.get(from..).unwrap_or_default();
    let mut issues = Vec::new();
    for (at, _) in body.match_indices("](") {
        let target = body.get(at + 2..).unwrap_or_default();
        let end = target.find([')', ' ', '\n']).unwrap_or(target.len());
        let target = target.get(..end).unwrap_or_default();
        let leads = target.starts_with('/')
            || target.split('/').any(|part| part == "..")
            || target.starts_with("file:")
            || target.starts_with('~');
        if leads && !target.contains("://") || target.starts_with("file:") {
            let why = format!("the link {} leads out of the skill", target.escape_debug());
            issues.push(Issue::new(
                Rule::PathOutside,
                "SKILL.md",
                from + at + 2,
                why,
            ));
        }
    }
    issues
}
