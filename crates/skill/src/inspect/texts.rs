use std::{borrow::Cow, ops::Range};

use super::{InspectionIssue, IssueClass, Rule, prose, tables::WordList};

/// A finding of a detector in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectorHit {
    /// The detector: `secrets`, `hidden_unicode` or `injection`; others are ignored.
    pub detector: &'static str,
    /// A description, which repeats none of the text.
    pub description: &'static str,
    /// Its range, in bytes.
    pub range: Range<usize>,
}

/// Finds credentials, invisible characters and prompt injection in a text.
pub type TextDetector<'a> = &'a dyn Fn(&str) -> Vec<DetectorHit>;

/// Returns the findings of detectors in a file.
pub(super) fn texts(detect: TextDetector<'_>, path: &str, bytes: &[u8]) -> Vec<InspectionIssue> {
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
    let hits = detect(&text);
    let of = hits.iter().filter(|hit| hit.detector == "injection");
    let places: Vec<usize> = of.map(|hit| hit.range.start).collect();
    let hidden = hits.iter().filter(|hit| hit.detector == "hidden_unicode");
    let are_few = hidden.count() <= 16;
    let mut described = prose::descriptions_at(&text, &places).into_iter();
    for hit in &hits {
        let rule = match hit.detector {
            "secrets" => Rule::Secret,
            "hidden_unicode" => Rule::Hidden,
            "injection" => Rule::Injection,
            _ => continue,
        };
        let mut issue = InspectionIssue::new(rule, path, hit.range.start, hit.description);
        if rule == Rule::Injection {
            let is_described = described.next().unwrap_or_default();
            // These two also match chat templates and polite phrases.
            let is_weak =
                hit.description.contains("conversation") || hit.description.contains("from the user");
            if is_described || is_weak || is_script {
                issue.class = IssueClass::Quality;
            }
            if is_script {
                continue;
            }
        }
        // A character outside of words hides nothing: authors separate fences with it.
        if rule == Rule::Hidden && are_few && is_stray_zero_width(&text, hit) {
            issue.class = IssueClass::Quality;
        }
        issues.push(issue);
    }
    // File names are checked, too.
    for detector_hit in detect(path).into_iter().filter(|hit| hit.detector == "hidden_unicode") {
        issues.push(InspectionIssue::new(
            Rule::Hidden,
            path,
            0,
            format!("its name has {}", detector_hit.description),
        ));
    }
    issues
}

/// True if a single zero-width character is not between two letters.
fn is_stray_zero_width(text: &str, hit: &DetectorHit) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let before = text.get(..hit.range.start).and_then(|text| text.chars().next_back());
    let after = text.get(hit.range.end..).and_then(|text| text.chars().next());
    let is_one = hit.description == "a zero-width character" && hit.range.len() == 3;
    is_one && !(is_letter(before) && is_letter(after))
}

/// Decodes a file as its readers do: UTF-8, or UTF-16 with its mark; an invalid part does not hide
/// the rest. `None` if it is not text.
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

/// Extensions of files read as text, whatever their content.
static TEXTS: WordList = WordList::from_table(include_str!("tables/words/text_endings.txt"));

fn is_text(path: &str) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    TEXTS.contains(&ending.to_ascii_lowercase())
}

/// True if a file is a program of a language that has rules of its own.
fn is_script(path: &str) -> bool {
    !is_text(path) && super::language(path, b"").is_some()
}
