use std::collections::BTreeSet;

use super::{InspectionIssue, Rule};
use crate::{Skill, SkillBundle};

/// The folders of a skill whose files are checked.
const FOLDERS: [&str; 3] = ["scripts", "references", "assets"];

/// Checks the paths in `SKILL.md`: those below a skill's folders must exist, none may lead out.
pub(super) fn paths(bundle: &SkillBundle, skill: &Skill) -> Vec<InspectionIssue> {
    let text = bundle.text("SKILL.md").unwrap_or_default();
    let mut issues = Vec::new();
    let mut reported = BTreeSet::new();
    let ends = |c: char| c.is_whitespace() || "`\"'()[]<>{},;|=*$\\".contains(c);
    let mut at = 0;
    for piece in text.split_inclusive(ends) {
        let word = piece.trim_end_matches(ends);
        let word = word.trim_end_matches(['.', ':', '!', '?', '/']);
        if reported.insert(word.to_owned()) {
            issues.extend(path(bundle, word, at));
        }
        at += piece.len();
    }
    issues.extend(outside(text, skill));
    issues
}

fn path(bundle: &SkillBundle, word: &str, at: usize) -> Option<InspectionIssue> {
    let bare = word.split('#').next().unwrap_or(word);
    let bare = bare.strip_prefix("./").unwrap_or(bare);
    let parts: Vec<&str> = bare.split('/').collect();
    let is_address = word.contains("://");
    if parts.contains(&"..")
        && parts.len() > 1
        && parts.iter().any(|part| FOLDERS.contains(part))
        && !is_address
    {
        let reason = format!("{} leads out of the skill", word.escape_debug());
        return Some(InspectionIssue::new(Rule::PathOutside, "SKILL.md", at, reason));
    }
    let begins = parts.first().is_some_and(|first| FOLDERS.contains(first));
    // A name without an extension may be a folder, or prose such as `scripts/references`.
    let is_file = parts.len() > 1
        && parts.last().is_some_and(|last| {
            last.rsplit_once('.').is_some_and(|(name, end)| !name.is_empty() && !end.is_empty())
        });
    let is_there = bundle.files.contains_key(bare);
    (begins && is_file && !is_there).then(|| {
        let reason = format!("{} is referenced, but does not exist", bare.escape_debug());
        InspectionIssue::new(Rule::PathMissing, "SKILL.md", at, reason)
    })
}

/// Returns the links of the body to files outside: `[text](/etc/passwd)`, `[text](../other.md)`.
fn outside(text: &str, skill: &Skill) -> Vec<InspectionIssue> {
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
            let reason = format!("the symlink {} leads out of the skill", target.escape_debug());
            issues.push(InspectionIssue::new(Rule::PathOutside, "SKILL.md", from + at + 2, reason));
        }
    }
    issues
}
