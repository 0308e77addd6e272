use std::ops::Range;

use super::{Issue, Rule};

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

/// The largest text that detectors see, in bytes.
const LARGEST: usize = 4 << 20;

/// What detectors see in a file.
pub(super) fn texts(detect: Detect<'_>, path: &str, bytes: &[u8]) -> Vec<Issue> {
    let mut issues = Vec::new();
    let Ok(text) = std::str::from_utf8(bytes) else {
        return issues;
    };
    if text.len() > LARGEST || text.contains('\0') {
        return issues;
    }
    for seen in detect(text) {
        let rule = match seen.detector {
            "secrets" => Rule::Secret,
            "hidden_unicode" => Rule::Hidden,
            "injection" if !is_script(path) => Rule::Injection,
            _ => continue,
        };
        issues.push(Issue::new(rule, path, seen.at.start, seen.what));
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

fn is_script(path: &str) -> bool {
    super::language(path, b"").is_some()
}
