use super::places::{addresses, is_published, is_publisher};
use crate::inspect::{Rule, tables::PatternTable};
use regex::Regex;
use std::sync::LazyLock;

/// A finding in a passage: the rule, the offset, and the reason.
pub(super) type PassageFinding = (Rule, usize, String);

/// Harmful commands in any text.
static COMMANDS: LazyLock<PatternTable> =
    LazyLock::new(|| PatternTable::from_table(include_str!("../tables/patterns/commands.txt"), "(?im)"));

static WRITES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?im)\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n;&|]*").ok());

static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:\s-\w*o|\s--output(?:-document)?|\s-outfile|>)[\s=]*[\x22']?([\w$~{}./-]+)").ok()
});

/// Returns every harmful command of a text. Lines continued with a `\` are joined.
pub(super) fn harmful_commands(text: &str) -> Vec<PassageFinding> {
    // The replacements have the same length, so that offsets stay.
    let text = text.replace("\\\r\n", "   ").replace("\\\n", "  ");
    let hits = COMMANDS.every(&text).filter_map(|hit| {
        let from = hit.seen.first()?;
        let is_known = hit.rule == Rule::PipeToShell && is_published(&addresses(from.as_str()));
        let (rule, reason) = if is_known {
            (Rule::PackageInstall, "it downloads and executes a publisher's installer")
        } else {
            (hit.rule, hit.reason)
        };
        Some((rule, from.start(), reason.to_owned()))
    });
    hits.collect()
}

/// The maximum distance between a fetch and its execution, in characters, and the maximum number of
/// fetches of a passage that are followed.
const NEAR: usize = 2_000;
const MOST: usize = 100;

/// Returns the files fetched by one command and executed by a later one.
pub(super) fn fetched(text: &str) -> Vec<PassageFinding> {
    let (Some(writes), Some(named)) = (WRITES.as_ref(), NAMED.as_ref()) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for hit in writes.find_iter(text).take(MOST) {
        let from = addresses(hit.as_str());
        let Some(first) = from.first() else { continue };
        if is_publisher(first) {
            continue;
        }
        let path = first.split(['?', '#']).next().unwrap_or(first);
        let last = path.rsplit('/').next().unwrap_or_default();
        let after: String = text.get(hit.end()..).unwrap_or_default().chars().take(NEAR).collect();
        let tail = text.get(hit.start()..).unwrap_or_default();
        let line = tail.lines().next().unwrap_or_default();
        let names = named.captures_iter(line);
        let mut names: Vec<&str> =
            names.filter_map(|captures| captures.get(1).map(|name| name.as_str())).collect();
        names.push(last);
        let is_run = names
            .iter()
            .filter(|name| name.len() > 2)
            .any(|name| runs(&after, name.trim_start_matches("./")));
        if is_run {
            let reason = "downloaded content is executed by the next command";
            findings.push((Rule::PipeToShell, hit.start(), reason.to_owned()));
        }
    }
    findings
}

/// True if a text executes a file.
fn runs(text: &str, name: &str) -> bool {
    const BEFORE: &str = r"(?:\b(?:ba|z|da|k)?sh\b(?:\s+-\w+)*|\bpython[23]?|\bnode|\bperl|\bruby|\bsource|\bstart|\bopen|\bsudo|(?:^|[;&]\s*)\.|start-process)\s+[\x22']?(?:\./|\.\\)?|(?:^|[;&|]|\bsudo)\s*[\x22']?\.[/\\]";
    const BARE: &str = r"|(?:^|[;&]|\bnohup)\s*[\x22']?";
    // A bare word at the start of a line is ambiguous.
    let bare = if name.contains('/') { BARE } else { "" };
    let pattern = format!(r"(?im)(?:{BEFORE}{bare}){}(?:$|[\s\x22'`;&|)])", regex::escape(name));
    Regex::new(&pattern).is_ok_and(|regex| regex.is_match(text))
}

/// Harmful instructions in prose.
static INSTRUCTIONS: LazyLock<PatternTable> =
    LazyLock::new(|| PatternTable::from_table(include_str!("../tables/patterns/instructions.txt"), "(?i)"));

/// Returns every harmful instruction of a text.
pub(super) fn harmful_instructions(text: &str) -> Vec<PassageFinding> {
    let hits = INSTRUCTIONS.complete(text).filter_map(|hit| {
        let at = hit.seen.iter().map(regex::Match::start).min()?;
        let from: Vec<&str> = hit.seen.iter().flat_map(|part| addresses(part.as_str())).collect();
        let is_known = hit.rule == Rule::FetchAndRun && is_published(&from);
        let rule = if is_known { Rule::PackageInstall } else { hit.rule };
        Some((rule, at, hit.reason.to_owned()))
    });
    hits.collect()
}

static PADDED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[ \t\u{a0}\u{3000}]{400,}[^\s]|(?:[ \t\r]*\n){60,}[ \t]*[^\s]").ok());

static HIDDEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?i)<\w+[^>]*style\s*=\s*["'][^"'>]*(?:display\s*:\s*none|font-size\s*:\s*0|opacity\s*:\s*0(?:[;"' ]|\.0)|visibility\s*:\s*hidden|color\s*:\s*(?:white|#fff(?:fff)?|transparent))[^>]*>\s*[^<\s][^<]{20,}"#).ok()
});

/// Returns text outside a reader's view: after a very large gap, and in letters without size or
/// colour.
pub(super) fn hidden_text(text: &str, is_markdown: bool) -> Vec<PassageFinding> {
    let mut findings = Vec::new();
    let mut find = |pattern: &LazyLock<Option<Regex>>, reason: &str| {
        let Some(pattern) = pattern.as_ref() else {
            return;
        };
        for hit in pattern.find_iter(text) {
            findings.push((Rule::Concealed, hit.start(), reason.to_owned()));
        }
    };
    if is_markdown {
        find(&PADDED, "text is hidden behind a long run of blanks");
        find(&HIDDEN, "text is made invisible");
    }
    findings
}
