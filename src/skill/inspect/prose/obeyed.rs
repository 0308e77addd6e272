use std::collections::BTreeSet;

use super::commands::{Found, commands, fetched};
use super::encoded::{blobs, encoded};
use super::leaves::leaves;
use super::mood::describes;
use super::parts::{Passage, passages};
use super::places::{addresses, is_publisher};
use super::says::says;
use super::unseen::unseen;
use crate::skill::inspect::rules::{Given, Look, shell};
use crate::skill::inspect::{Class, Issue, Rule};

/// How many passages that follow each other are read as one, and how long they are at most.
const TOGETHER: usize = 5;
const LONGEST: usize = 4_000;

/// How many findings before one could be the same.
const NEAR: usize = 32;

/// What a text tells whoever obeys it. Takes time in the size of the text.
pub(in crate::skill::inspect) fn prose(path: &str, text: &str) -> Vec<Issue> {
    let all = passages(text);
    let mut issues: Vec<Issue> = Vec::new();
    let is_markdown = !["html", "htm", "svg", "css", "xml", "xsd"]
        .iter()
        .any(|ending| path.to_ascii_lowercase().ends_with(&format!(".{ending}")));
    for (rule, at, why) in unseen(text, is_markdown) {
        issues.push(Issue::new(rule, path, at, why));
    }
    for (number, passage) in all.iter().enumerate() {
        let mut found = commands(passage.text);
        found.extend(fetched(passage.text));
        found.extend(shells(passage));
        found.extend(leaves(passage.text));
        found.extend(encoded(passage.text));
        if passage.fence.is_none_or(is_words) {
            found.extend(says(passage.text));
        }
        for (rule, at, why) in found {
            add(&mut issues, (path, passage), (rule, at, why));
        }
        // An order may be cut into short passages.
        let near = all.get(number..).unwrap_or_default().iter().take(TOGETHER);
        let same = near.take_while(|one| one.heading == passage.heading);
        let end = same
            .last()
            .map_or(passage.at, |last| last.at + last.text.len());
        let joined = text.get(passage.at..end).unwrap_or_default();
        if joined.len() > passage.text.len() && joined.len() <= LONGEST && passage.fence.is_none() {
            for (rule, at, why) in says(joined) {
                if rule != Rule::Exfiltration && rule != Rule::Covert && at < passage.text.len() {
                    add(&mut issues, (path, passage), (rule, at, why));
                }
            }
        }
    }
    issues
}

/// What a program does that its reader does not see: what leaves the machine, what is encoded,
/// what agents obey.
pub(in crate::skill::inspect) fn program(path: &str, text: &str) -> Vec<Issue> {
    let of_text = |(rule, _, _): &Found| {
        matches!(rule, Rule::AgentMemory | Rule::Miner | Rule::DecodeToShell)
    };
    let found = commands(text).into_iter().filter(of_text);
    let mut all: Vec<Found> = found.chain(fetched(text)).collect();
    all.extend(leaves(text));
    all.extend(blobs(text));
    let is_comment = |at: usize| {
        let before = text.get(..at).unwrap_or_default();
        let line = text.get(before.rfind('\n').map_or(0, |end| end + 1)..);
        let line = line.unwrap_or_default().trim_start();
        ["#", "//", "*"].iter().any(|sign| line.starts_with(sign))
    };
    let all = all.into_iter().filter(|(_, at, _)| !is_comment(*at));
    all.map(|(rule, at, why)| Issue::new(rule, path, at, why))
        .collect()
}

/// Where a text only describes what it shows, of these places.
pub(in crate::skill::inspect) fn described(text: &str, places: &[usize]) -> Vec<bool> {
    if places.is_empty() {
        return Vec::new();
    }
    let all = passages(text);
    let is_described = |at: &usize| {
        let number = all.partition_point(|one| one.at <= *at);
        let passage = number.checked_sub(1).and_then(|number| all.get(number));
        passage.is_some_and(|passage| {
            describes(passage, at - passage.at) || quotes(passage, at - passage.at)
        })
    };
    places.iter().map(is_described).collect()
}

/// Whether what stands at a place is quoted as an example of something.
fn quotes(passage: &Passage<'_>, at: usize) -> bool {
    let before = passage.text.get(..at).unwrap_or_default();
    let is_open = before.ends_with(['"', '`', '\'', '“', '(']);
    let said = [
        before.lines().next_back().unwrap_or_default(),
        passage.lead,
        passage.heading,
    ];
    let names = [
        "such as", "e.g.", "like ", "pattern", "phrase", "example", "test",
    ];
    is_open
        && said.iter().any(|said| {
            names
                .iter()
                .any(|name| said.to_ascii_lowercase().contains(name))
        })
}

/// Commands as the shell reads them, however they are written.
fn shells(passage: &Passage<'_>) -> Vec<Found> {
    let language = passage.fence.unwrap_or_default().to_ascii_lowercase();
    if !matches!(
        language.as_str(),
        "sh" | "bash" | "shell" | "console" | "zsh"
    ) {
        return Vec::new();
    }
    let given = Given {
        net: true,
        ..Given::default()
    };
    let mut look = Look::new("", &given);
    shell(&mut look, (passage.text, 0), &BTreeSet::new());
    let harms = |issue: &Issue| {
        matches!(
            issue.rule,
            Rule::PipeToShell | Rule::DecodeToShell | Rule::ReverseShell | Rule::WorldWritable
        )
    };
    let found = look.issues.into_iter().filter(harms);
    found
        .filter(|issue| !is_known(passage.text, issue.at))
        .map(|issue| (issue.rule, issue.at, issue.message))
        .collect()
}

/// Whether what a line fetches comes from publishers.
fn is_known(text: &str, at: usize) -> bool {
    let from = text
        .get(..at)
        .and_then(|before| before.rfind('\n'))
        .unwrap_or(0);
    let to = text.get(at..).and_then(|after| after.find('\n'));
    let line = text.get(from..to.map_or(text.len(), |to| at + to));
    let from = addresses(line.unwrap_or_default());
    !from.is_empty() && from.iter().all(|from| is_publisher(from))
}

/// Whether a fenced block holds words for a reader rather than a program.
fn is_words(language: &str) -> bool {
    let language = language.to_ascii_lowercase();
    let language = language.split([' ', ',', '{']).next().unwrap_or_default();
    matches!(
        language,
        "" | "text" | "txt" | "markdown" | "md" | "plaintext" | "xml" | "html" | "yaml" | "prompt"
    )
}

fn add(
    issues: &mut Vec<Issue>,
    (path, passage): (&str, &Passage<'_>),
    found: (Rule, usize, String),
) {
    let (rule, at, why) = found;
    let mut issue = Issue::new(rule, path, passage.at + at, why);
    if issue.class != Class::Quality && describes(passage, at) {
        issue.class = Class::Quality;
        issue.message += ", which the text describes and does not tell to do";
    }
    let is_told = |one: &Issue| {
        one.rule == issue.rule && one.class >= issue.class && one.at.abs_diff(issue.at) < 400
    };
    if !issues.iter().rev().take(NEAR).any(is_told) {
        issues.push(issue);
    }
}
