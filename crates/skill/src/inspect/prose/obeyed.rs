use std::collections::BTreeSet;

use super::{
    commands::{PassageFinding, fetched, harmful_commands, harmful_instructions, hidden_text},
    encoded::{blobs, encoded},
    leaves::leaves,
    mood::is_description,
    parts::{TextPassage, passages},
    places::{addresses, is_published},
};
use crate::inspect::{
    InspectionIssue, IssueClass, Rule,
    rules::{FileInspection, ScriptPermissions, shell},
};

/// The maximum number of consecutive passages read as one, and their maximum length.
const TOGETHER: usize = 5;
const LONGEST: usize = 4_000;

/// The number of preceding findings searched for duplicates.
const NEAR: usize = 32;

/// Returns the harmful instructions in a text for an agent. Takes time in the size of the text.
pub(in crate::inspect) fn prose(path: &str, text: &str) -> Vec<InspectionIssue> {
    let text_passages = passages(text);
    let mut issues: Vec<InspectionIssue> = Vec::new();
    let is_markdown = !["html", "htm", "svg", "css", "xml", "xsd"]
        .iter()
        .any(|ending| path.to_ascii_lowercase().ends_with(&format!(".{ending}")));
    for (rule, at, reason) in hidden_text(text, is_markdown) {
        issues.push(InspectionIssue::new(rule, path, at, reason));
    }
    for (number, passage) in text_passages.iter().enumerate() {
        let mut findings = harmful_commands(passage.text);
        findings.extend(fetched(passage.text));
        findings.extend(shells(passage));
        findings.extend(leaves(passage.text));
        findings.extend(encoded(passage.text));
        if passage.fence.is_none_or(is_words) {
            findings.extend(harmful_instructions(passage.text));
        }
        for (rule, at, reason) in findings {
            push_issue(&mut issues, path, passage, rule, at, reason);
        }
        // An instruction may be split into short passages.
        let near = text_passages.get(number..).unwrap_or_default().iter().take(TOGETHER);
        let same = near.take_while(|text_passage| text_passage.heading == passage.heading);
        let end = same.last().map_or(passage.at, |last| last.at + last.text.len());
        let joined = text.get(passage.at..end).unwrap_or_default();
        if joined.len() > passage.text.len() && joined.len() <= LONGEST && passage.fence.is_none() {
            for (rule, at, reason) in harmful_instructions(joined) {
                if rule != Rule::Exfiltration && rule != Rule::Covert && at < passage.text.len() {
                    push_issue(&mut issues, path, passage, rule, at, reason);
                }
            }
        }
    }
    issues
}

/// Returns the hidden effects of a program: data that leaves the machine, encoded text, files
/// agents obey.
pub(in crate::inspect) fn program(path: &str, text: &str) -> Vec<InspectionIssue> {
    let of_text =
        |(rule, _, _): &PassageFinding| matches!(rule, Rule::AgentMemory | Rule::Miner | Rule::DecodeToShell);
    let commands = harmful_commands(text).into_iter().filter(of_text);
    let mut all_findings: Vec<PassageFinding> = commands.chain(fetched(text)).collect();
    all_findings.extend(leaves(text));
    all_findings.extend(blobs(text));
    let is_comment = |at: usize| {
        let before = text.get(..at).unwrap_or_default();
        let line = text.get(before.rfind('\n').map_or(0, |end| end + 1)..);
        let line = line.unwrap_or_default().trim_start();
        ["#", "//", "*"].iter().any(|sign| line.starts_with(sign))
    };
    let findings = all_findings.into_iter().filter(|(_, at, _)| !is_comment(*at));
    findings.map(|(rule, at, reason)| InspectionIssue::new(rule, path, at, reason)).collect()
}

/// Returns true for each of these offsets at which the text only describes what it shows.
pub(in crate::inspect) fn descriptions_at(text: &str, places: &[usize]) -> Vec<bool> {
    if places.is_empty() {
        return Vec::new();
    }
    let text_passages = passages(text);
    let is_described = |at: &usize| {
        let number = text_passages.partition_point(|text_passage| text_passage.at <= *at);
        let passage = number.checked_sub(1).and_then(|number| text_passages.get(number));
        passage.is_some_and(|passage| {
            is_description(passage, at - passage.at) || quotes(passage, at - passage.at)
        })
    };
    places.iter().map(is_described).collect()
}

/// True if the text at an offset is quoted as an example.
fn quotes(passage: &TextPassage<'_>, at: usize) -> bool {
    let before = passage.text.get(..at).unwrap_or_default();
    let is_open = before.ends_with(['"', '`', '\'', '“', '(']);
    let text = [before.lines().next_back().unwrap_or_default(), passage.lead, passage.heading];
    let names = ["such as", "e.g.", "like ", "pattern", "phrase", "example", "test"];
    is_open && text.iter().any(|line| names.iter().any(|name| line.to_ascii_lowercase().contains(name)))
}

/// Checks commands as the shell reads them, in any notation.
fn shells(passage: &TextPassage<'_>) -> Vec<PassageFinding> {
    let language = passage.fence.unwrap_or_default().to_ascii_lowercase();
    if !matches!(language.as_str(), "sh" | "bash" | "shell" | "console" | "zsh") {
        return Vec::new();
    }
    let permissions = ScriptPermissions { net: true, ..ScriptPermissions::default() };
    let mut look = FileInspection::new("", &permissions);
    shell(&mut look, passage.text, 0, &BTreeSet::new());
    let harms = |issue: &InspectionIssue| {
        matches!(
            issue.rule,
            Rule::PipeToShell | Rule::DecodeToShell | Rule::ReverseShell | Rule::WorldWritable
        )
    };
    let harmful = look.issues.into_iter().filter(harms);
    harmful
        .filter(|issue| !is_known(passage.text, issue.at))
        .map(|issue| (issue.rule, issue.at, issue.message))
        .collect()
}

/// True if the address fetched on a line belongs to a known publisher.
fn is_known(text: &str, at: usize) -> bool {
    let from = text.get(..at).and_then(|before| before.rfind('\n')).unwrap_or(0);
    let to = text.get(at..).and_then(|after| after.find('\n'));
    let line = text.get(from..to.map_or(text.len(), |to| at + to));
    is_published(&addresses(line.unwrap_or_default()))
}

/// True if a fenced block holds text for a reader rather than a program.
fn is_words(language: &str) -> bool {
    let language = language.to_ascii_lowercase();
    let language = language.split([' ', ',', '{']).next().unwrap_or_default();
    matches!(
        language,
        "" | "text" | "txt" | "markdown" | "md" | "plaintext" | "xml" | "html" | "yaml" | "prompt"
    )
}

fn push_issue(
    issues: &mut Vec<InspectionIssue>,
    path: &str,
    passage: &TextPassage<'_>,
    rule: Rule,
    at: usize,
    reason: String,
) {
    let mut issue = InspectionIssue::new(rule, path, passage.at + at, reason);
    if issue.class != IssueClass::Quality && is_description(passage, at) {
        issue.class = IssueClass::Quality;
        issue.message += ", which the text describes but does not instruct";
    }
    let is_told = |earlier: &InspectionIssue| {
        earlier.rule == issue.rule && earlier.class >= issue.class && earlier.at.abs_diff(issue.at) < 400
    };
    if !issues.iter().rev().take(NEAR).any(is_told) {
        issues.push(issue);
    }
}
