//! Texts that act or deceive where they are printed as they are, and what finds that.

use std::fmt::Write as _;

/// Texts that act on a terminal, change how others look, or look like something else.
pub const TEXTS: &[(&str, &str)] = &[
    ("colour", "a\u{1b}[1m\u{1b}[32mFAKE\u{1b}[0m"),
    ("hidden by colour", "a\u{1b}[8mFAKE\u{1b}[28m"),
    ("cursor", "a\u{1b}[2J\u{1b}[1;1HFAKE\u{1b}[3A"),
    ("title", "a\u{1b}]0;FAKE\u{7}b"),
    ("link", "a\u{1b}]8;;http://x.example\u{1b}\\FAKE\u{1b}]8;;\u{1b}\\"),
    ("clipboard", "a\u{1b}]52;c;RkFLRQ==\u{7}b"),
    ("device", "a\u{1b}P$qFAKE\u{1b}\\\u{1b}c"),
    ("c1", "a\u{9b}2JFAKE\u{9d}0;x\u{9c}\u{85}b"),
    ("over", "a\rFAKE\u{8}\u{8}\u{8}\u{8}ok\u{b}\u{c}\u{7f}b"),
    ("direction", "a\u{202e}FAKE\u{202c}\u{2066}b\u{2069}\u{200f}\u{61c}c"),
    ("no width", "a\u{200b}F\u{200d}A\u{feff}K\u{2060}E\u{ad}b"),
    ("tags", "a\u{e0046}\u{e0041}b\u{2028}c\u{2029}d"),
    ("command", "a\n::error::FAKE\n  ::stop-commands::FAKE\n##[add-mask]FAKE\n::add-mask::FAKE"),
    ("heading", "a\n# FAKE\n\n| FAKE | verified |\n```\nFAKE\n- FAKE <img src=x onerror=y>"),
    ("markup", "a</system-out></failure>]]><FAKE a=\"b\">`|*_[x](http://x.example)|@FAKE"),
    (
        "lines",
        "a\n   verified      1.2s  FAKE\nsucceeded · FAKE\nerror: FAKE\nhint: FAKE\n── FAKE#1\nnext: wf FAKE",
    ),
];

/// How lines begin that `wf` did not write.
const FAKES: &[&str] = &[
    "::error::",
    "::stop-commands",
    "::add-mask",
    "##[",
    "# FAKE",
    "| FAKE",
    "```",
    "- FAKE",
    "verified      1.2s  FAKE",
    "succeeded · FAKE",
    "error: FAKE",
    "hint: FAKE",
    "── FAKE",
    "next: wf FAKE",
];

/// Mixtures, the same ones every time.
pub fn mixtures(count: usize) -> Vec<(String, String)> {
    let mut seed = 0x9e37_79b9_u32;
    let mut next = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        seed as usize % below
    };
    let mixture = |at| {
        let parts: String = (0..4).map(|_| TEXTS[next(TEXTS.len())].1).collect();
        (format!("mixture {at}"), parts)
    };
    (0..count).map(mixture).collect()
}

/// What is wrong with a text that somebody looks at; `styled` is whether `wf` colours it.
pub fn faults(text: &str, styled: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let mut rest = text.to_owned();
    if styled {
        for style in ["0", "1", "2", "31", "32", "33", "35", "36", "91", "92", "93", "94", "96"] {
            rest = rest.replace(&format!("\u{1b}[{style}m"), "");
        }
        if text.contains("\u{1b}[1mFAKE") || text.contains("\u{1b}[32mFAKE") {
            faults.push("a colour of others".to_owned());
        }
    }
    let odd = |c: char| {
        c.is_control() && c != '\n'
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    for line in rest.lines() {
        if line.contains(odd) {
            faults.push(format!("not visible: {line:?}"));
        }
        if FAKES.iter().any(|fake| line.trim_start().starts_with(fake)) {
            faults.push(format!("like a line of wf: {line:?}"));
        }
    }
    faults
}

/// A text as YAML and JSON write it, without a character that is not ASCII.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            ' '..='~' => quoted.push(c),
            c => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(c));
            }
        }
    }
    quoted + "\""
}

/// A text that can be the name of a file.
pub fn name(text: &str) -> String {
    text.replace('/', "_").chars().take(60).collect()
}
