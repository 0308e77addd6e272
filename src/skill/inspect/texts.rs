use std::borrow::Cow;
use std::ops::Range;

use super::{Class, Issue, Rule, prose};

/// What a detector saw in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Which detector: `secrets`, `hidden_unicode` or `injection`; others are not told.
    pub detector: &'static str,
    /// What it is, in words that hold nothing of it.
    pub what: &'static str,
    /// Where, in bytes.
    pub at: Range<usize>,
}

/// Finds credentials, characters that nobody sees and prompt injection in a text.
pub type Detect<'a> = &'a dyn Fn(&str) -> Vec<Seen>;

/// What detectors see in a file.
pub(super) fn texts(detect: Detect<'_>, path: &str, bytes: &[u8]) -> Vec<Issue> {
    let mut issues = Vec::new();
    let Some(text) = readable(path, bytes) else {
        return issues;
    };
    let is_script = is_script(path);
    if is_script {
        issues.extend(prose::program(path, &text));
    } else {
        issues.extend(prose::prose(path, &text));
    }
    let found = detect(&text);
    let of = found.iter().filter(|seen| seen.detector == "injection");
    let places: Vec<usize> = of.map(|seen| seen.at.start).collect();
    let hidden = found
        .iter()
        .filter(|seen| seen.detector == "hidden_unicode");
    let are_few = hidden.count() <= 16;
    let mut described = prose::described(&text, &places).into_iter();
    for seen in &found {
        let rule = match seen.detector {
            "secrets" => Rule::Secret,
            "hidden_unicode" => Rule::Hidden,
            "injection" => Rule::Injection,
            _ => continue,
        };
        let mut issue = Issue::new(rule, path, seen.at.start, seen.what);
        if rule == Rule::Injection {
            let is_described = described.next().unwrap_or_default();
            // These two are said of chat templates and of politeness, too.
            let is_weak = seen.what.contains("conversation") || seen.what.contains("from the user");
            if is_described || is_weak || is_script {
                issue.class = Class::Quality;
            }
            if is_script {
                continue;
            }
        }
        // One that stands between no two letters hides nothing: writers keep fences apart with it.
        if rule == Rule::Hidden && are_few && is_apart(&text, seen) {
            issue.class = Class::Quality;
        }
        issues.push(issue);
    }
    // Names of files are read, too.
    for seen in detect(path)
        .into_iter()
        .filter(|seen| seen.detector == "hidden_unicode")
    {
        issues.push(Issue::new(
            Rule::Hidden,
            path,
            0,
            format!("its name has {}", seen.what),
        ));
    }
    issues
}

/// Whether one character without width stands between no two letters.
fn is_apart(text: &str, seen: &Seen) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let before = text
        .get(..seen.at.start)
        .and_then(|text| text.chars().next_back());
    let after = text.get(seen.at.end..).and_then(|text| text.chars().next());
    let is_one = seen.what == "a character without width" && seen.at.len() == 3;
    is_one && !(is_letter(before) && is_letter(after))
}

/// A file as whoever opens it reads it: UTF-8, or UTF-16 with its mark; what is broken in a text does
/// not hide the rest. `None`: it is no text.
pub(super) fn readable<'a>(path: &str, bytes: &'a [u8]) -> Option<Cow<'a, str>> {
    let wide = |from: fn([u8; 2]) -> u16| {
        let (pairs, _) = bytes.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().skip(1).map(|pair| from(*pair)).collect();
        Cow::Owned(String::from_utf16_lossy(&units))
    };
    if bytes.starts_with(b"\xff\xfe") {
        return Some(wide(u16::from_le_bytes));
    }
    if bytes.starts_with(b"\xfe\xff") {
        return Some(wide(u16::from_be_bytes));
    }
    let is_text = is_text(path);
    match std::str::from_utf8(bytes) {
        Ok(text) if is_text || !text.contains('\0') => Some(Cow::Borrowed(text)),
        _ if is_text || !bytes.contains(&0) => Some(String::from_utf8_lossy(bytes)),
        _ => None,
    }
}

/// Endings of files that are read as texts, whatever is in them.
const TEXTS: [&str; 18] = [
    "md", "markdown", "mdx", "txt", "rst", "adoc", "html", "htm", "json", "yaml", "yml", "toml",
    "ini", "cfg", "ps1", "bat", "cmd", "vbs",
];

fn is_text(path: &str) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    TEXTS.contains(&ending.to_ascii_lowercase().as_str())
}

/// Whether a file is a program of a language that has rules of its own.
fn is_script(path: &str) -> bool {
    !is_text(path) && super::language(path, b"").is_some()
}
