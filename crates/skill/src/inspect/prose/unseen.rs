use std::sync::LazyLock;

use regex::Regex;

use super::commands::PassageFinding;
use crate::inspect::Rule;

static PADDED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[ \t\u{a0}\u{3000}]{400,}[^\s]|(?:[ \t\r]*\n){60,}[ \t]*[^\s]").ok());

static HIDDEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?i)<\w+[^>]*style\s*=\s*["'][^"'>]*(?:display\s*:\s*none|font-size\s*:\s*0|opacity\s*:\s*0(?:[;"' ]|\.0)|visibility\s*:\s*hidden|color\s*:\s*(?:white|#fff(?:fff)?|transparent))[^>]*>\s*[^<\s][^<]{20,}"#).ok()
});

/// Returns text outside a reader's view: after a very large gap, and in letters without size or
/// colour.
pub(super) fn hidden_text(text: &str, is_markdown: bool) -> Vec<PassageFinding> {
    let mut found = Vec::new();
    let mut find = |pattern: &LazyLock<Option<Regex>>, reason: &str| {
        let Some(pattern) = pattern.as_ref() else {
            return;
        };
        for seen in pattern.find_iter(text) {
            found.push((Rule::Concealed, seen.start(), reason.to_owned()));
        }
    };
    if is_markdown {
        find(&PADDED, "text is hidden behind a long run of blanks");
        find(&HIDDEN, "text is made invisible");
    }
    found
}
