use std::fmt::Write as _;

use super::front::FrontMatterFields;

/// Writes front matter every reader understands: one line a field, texts in quotes.
pub(super) fn write(front: &FrontMatterFields) -> String {
    let mut yaml = format!("---\nname: {}\ndescription: {}\n", front.name, quoted(&front.description));
    for (key, value) in [("license", &front.license), ("compatibility", &front.compatibility)] {
        if let Some(value) = value {
            let _ = writeln!(yaml, "{key}: {}", quoted(value));
        }
    }
    if !front.tools.is_empty() {
        let _ = writeln!(yaml, "allowed-tools: {}", quoted(&front.tools.join(" ")));
    }
    if !front.metadata.is_empty() || front.own.is_some() {
        yaml.push_str("metadata:\n");
    }
    for (key, value) in &front.metadata {
        let _ = writeln!(yaml, "  {}: {}", quoted(key), quoted(value));
    }
    if let Some(own) = &front.own {
        yaml.push_str("  wf: |\n");
        for line in own.lines() {
            let indent = if line.is_empty() { "" } else { "    " };
            let _ = writeln!(yaml, "{indent}{line}");
        }
    }
    yaml.push_str("---\n");
    yaml
}

/// Quotes a text on one line. Three hyphens in a row would end the front matter for the reference
/// validator, even in quotes.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    let mut hyphens = 0;
    for c in text.chars() {
        hyphens = if c == '-' { hyphens + 1 } else { 0 };
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '-' if hyphens == 3 => {
                out.push_str("\\x2d");
                hyphens = 0;
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Keeps only printable characters, line ends and tabs; drops what YAML cannot hold.
pub(super) fn plain(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let shown = text.chars().filter_map(|c| match c {
        '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some('\n'),
        '\n' | '\t' => Some(c),
        '\u{feff}' | '\u{fffe}' | '\u{ffff}' => None,
        c if c.is_control() => None,
        c => Some(c),
    });
    shown.collect()
}

/// Returns the text of `metadata.wf`, if it can be written verbatim below a `|`.
pub(super) fn block(text: &str) -> Option<String> {
    let is_plain = plain(text) == text && !text.contains("---");
    let first = text.lines().next().unwrap_or_default();
    let begins = !first.is_empty() && !first.starts_with([' ', '\t']);
    let is_even = text.lines().all(|line| line.is_empty() || !line.trim().is_empty());
    (is_plain && begins && is_even).then(|| text.trim_end().to_owned())
}
