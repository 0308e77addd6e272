use std::sync::LazyLock;

use regex::Regex;

use super::parts::TextPassage;

/// Words by which a text warns of its examples.
static WARNS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:never|avoid(?:s|ing)?|don'?t|do not|must not|should(?:n'?t| not)|refuse[sd]?|reject(?:s|ed)?|flag(?:s|ged)?|detect(?:s|ed|ion|ing)?|block(?:s|ed)?|forbid(?:s|den)?|dangerous|malicious|attack(?:s|ers?|ing)?|vulnerab\w+|exploit\w*|unsafe|insecure|suspicious|red flags?|anti-?patterns?|harmful|threats?|indicators? of|instead of|rather than|compromised?|injections?|untrusted|adversar\w+|phishing|malware|wrong|bad|arbitrary (?:code|commands?)|catch(?:es)?|search for|look for|scan for)\b|❌|✗|🚫",
    )
    .ok()
});

/// Phrases that resemble a warning and are instructions: "never skip this".
static ORDERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:never|don'?t|do not|must not|should not|avoid|cannot)\s+(?:\w+\s+){0,2}?(?:skip|forget|omit|ignore|miss|ask|tell|mention|inform|notify|alert|warn|worry|hesitate|wait|display|show|reveal|disclose|include|refactor|change|modify|proceed|continue|work|function|be)\b|\bavoid\s+(?:errors?|problems?|issues?|failures?)\b|\bwrong\s+(?:version|architecture)\b",
    )
    .ok()
});

/// Phrases that instruct the reader to do something.
static TELLS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:run|execute|paste|install|launch|type|enter|invoke|download)\b[^.!?]{0,80}(?::|first|before|now|below|following|this|these|command|script|once)",
    )
    .ok()
});

fn is_match(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// True if a text warns of its examples.
pub(super) fn is_warning(text: &str) -> bool {
    let Some(orders) = ORDERS.as_ref() else {
        return false;
    };
    // An address is not a warning, whatever the name of its host.
    let words = text.split_whitespace();
    let words = words.filter(|word| !word.contains("://") && !is_host(word));
    let words: Vec<&str> = words.collect();
    is_match(&WARNS, &orders.replace_all(&words.join(" "), " "))
}

/// True if a word has a dot between letters, as hosts and file names have.
fn is_host(word: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut stops = word.match_indices('.');
    stops.any(|(at, _)| {
        let (before, after) = word.split_at(at);
        is_letter(before.chars().next_back()) && is_letter(after.chars().nth(1))
    })
}

/// True if a passage describes the text at an offset instead of giving an instruction: the sentence
/// itself warns, or a comment beside it, or the text before it. A heading counts only if there is
/// no instruction in between.
pub(in crate::inspect) fn is_description(passage: &TextPassage<'_>, at: usize) -> bool {
    let text = passage.text;
    let begin = text.get(..at).and_then(|before| before.rfind('\n'));
    let begin = begin.map_or(0, |begin| begin + 1);
    let end = text.get(at..).and_then(|after| after.find('\n'));
    let line = text.get(begin..end.map_or(text.len(), |end| at + end));
    let line = line.unwrap_or_default();
    if passage.fence.is_none() {
        let first = text.lines().next().unwrap_or_default();
        let leads = first.trim_end().ends_with(':') && is_warning(first);
        return is_warning(line) || leads || is_warning(passage.heading) && !is_match(&TELLS, line);
    }
    let above = text.get(..begin).unwrap_or_default().lines().next_back();
    let above = above.map(str::trim).filter(|above| is_comment(above));
    let beside = line.split_once(" #").or_else(|| line.split_once("//"));
    let first = text.lines().next().map(str::trim);
    let first = first.filter(|first| is_comment(first));
    let remarks = [above, beside.map(|(_, said)| said), first];
    let is_told = is_match(&TELLS, passage.lead);
    remarks.into_iter().flatten().any(is_warning)
        || is_warning(passage.lead)
        || is_warning(passage.heading) && !is_told
}

fn is_comment(line: &str) -> bool {
    ["#", "//", "--", "<!--", "/*", "rem "].iter().any(|sign| line.to_ascii_lowercase().starts_with(sign))
}
