use std::sync::LazyLock;

use regex::Regex;

use super::commands::Found;
use crate::skill::inspect::Rule;

static PADDED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"[ \t\u{a0}\u{3000}]{400,}[^\s]|(?:[ \t\r]*\n){60,}[ \t]*[^\s]").ok()
});

static HIDDEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?i)<\w+[^>]*style\s*=\s*["'][^"'>]*(?:display\s*:\s*none|font-size\s*:\s*0|opacity\s*:\s*0(?:[;"' ]|\.0)|visibility\s*:\s*hidden|color\s*:\s*(?:white|#fff(?:fff)?|transparent))[^>]*>\s*[^<\s][^<]{20,}"#).ok()
});

/// What a text has where no reader looks: behind very much nothing, and in letters without size
/// or colour.
pub(super) fn unseen(text: &str, is_markdown: bool) -> Vec<Found> {
    let mut found = Vec::new();
    let mut find = |pattern: &LazyLock<Option<Regex>>, why: &str| {
        let Some(pattern) = pattern.as_ref() else {
            return;
        };
        for seen in pattern.find_iter(text) {
            found.push((Rule::Concealed, seen.start(), why.to_owned()));
        }
    };
    if is_markdown {
        find(
            &PADDED,
            "text stands behind very many blanks, where nobody looks",
        );
        find(&HIDDEN, "text is shown so that nobody sees it");
    }
    found
}
