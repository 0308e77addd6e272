use crate::config;
use wf_base::{
    digest::Sha256Digest,
    name::Name,
    source::{SourceText, Span},
};
use wf_lang::{
    decode::DiagnosticList,
    yaml::{self, YamlEntry, YamlNode, YamlValue},
};
use wf_model::McpServer;

/// A change of a text: what is between two offsets is replaced.
struct TextEdit {
    from: usize,
    to: usize,
    new: String,
}

/// Returns the text of `wf.yaml` with the digest of a server; the rest of it is unchanged. `None`: the text is written
/// such that it cannot be edited safely.
pub(super) fn with_digest(text: &str, server: &Name, digest: Sha256Digest) -> Option<String> {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let tree = yaml::read_yaml(text, Span::new(start, text.len()), &mut DiagnosticList::default())?;
    let section = entry(&entry(&tree, "mcp")?.value, server.as_str())?;
    let edits = match entry(&section.value, "digest") {
        Some(old) => {
            let range = old.value.span.range();
            vec![TextEdit { from: range.start, to: range.end, new: digest.to_string() }]
        }
        None => additions(text, &section.value, digest)?,
    };
    edits.into_iter().find_map(|edit| {
        let mut new = text.to_owned();
        new.replace_range(edit.from..edit.to, &edit.new);
        is_sound(text, &new, server, digest).then_some(new)
    })
}

fn entry<'n, 'a>(node: &'n YamlNode<'a>, key: &str) -> Option<&'n YamlEntry<'a>> {
    match &node.value {
        YamlValue::Map(entries) => entries.iter().find(|entry| entry.key == key),
        _ => None,
    }
}

/// Returns the ways to add the digest after the last key of a section: in braces, or on a line of its own.
fn additions(text: &str, node: &YamlNode<'_>, digest: Sha256Digest) -> Option<Vec<TextEdit>> {
    let YamlValue::Map(entries) = &node.value else {
        return None;
    };
    let (first, end) = (entries.first()?, entries.last()?.value.span.range().end);
    let in_braces = TextEdit { from: end, to: end, new: format!(", digest: {digest}") };
    let before = text.get(..first.at.range().start)?;
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count();
    // A comment at the end of the line stays with it.
    let line_end = text.get(end..)?.find('\n').map(|at| end + at);
    let (at, indent) = (line_end.unwrap_or(text.len()), " ".repeat(column));
    let below = TextEdit { from: at, to: at, new: format!("\n{indent}digest: {digest}") };
    Some(vec![in_braces, below])
}

/// True if a new text says the same as an old one, and that digest.
fn is_sound(old: &str, new: &str, server: &Name, digest: Sha256Digest) -> bool {
    let read = |text: &str| config::load(&SourceText::new(crate::CONFIG, text));
    let ((before, _), (after, mistakes)) = (read(old), read(new));
    let mut expected = before.models.servers.clone();
    if let Some(pinned) = expected.get_mut(server) {
        *pinned = McpServer { digest: Some(digest), ..pinned.clone() };
    }
    mistakes.is_empty() && after.models.servers == expected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinned(text: &str) -> Option<String> {
        let digest = Sha256Digest::of_bytes(b"x");
        let new = with_digest(text, &Name::parse("files").unwrap(), digest)?;
        Some(new.replace(&digest.to_string(), "DIGEST"))
    }

    #[test]
    fn a_digest_is_added_or_replaced_and_comments_stay() {
        let old = Sha256Digest::of_bytes(b"old");
        for (text, expected) in [
            (
                "# c\nmcp:\n  files: {command: [s], tools: [t]} # d\n",
                "# c\nmcp:\n  files: {command: [s], tools: [t], digest: DIGEST} # d\n",
            ),
            (
                "mcp:\n  files:\n    command: [s] # d\n    tools: [t] # e\n\n# f\nenv_pass: [CI]\n",
                "mcp:\n  files:\n    command: [s] # d\n    tools: [t] # e\n    digest: DIGEST\n\n# f\nenv_pass: [CI]\n",
            ),
            (
                "mcp:\n  files:\n    command: [s]\n    tools:\n      - t\n      - u",
                "mcp:\n  files:\n    command: [s]\n    tools:\n      - t\n      - u\n    digest: DIGEST",
            ),
            (
                &format!("mcp: {{files: {{digest: {old}, command: [s], tools: [t]}}}}\n"),
                "mcp: {files: {digest: DIGEST, command: [s], tools: [t]}}\n",
            ),
            (
                &format!(
                    "mcp:\n  files:\n    digest: '{old}' # reviewed\n    command: [s]\n    tools: [t]\n"
                ),
                "mcp:\n  files:\n    digest: DIGEST # reviewed\n    command: [s]\n    tools: [t]\n",
            ),
        ] {
            assert_eq!(pinned(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_edited_safely_is_left() {
        for text in ["", "mcp: {}\n", "mcp: {other: {command: [s], tools: [t]}}\n", "mcp: {files: [s]}\n"] {
            assert_eq!(pinned(text), None, "{text}");
        }
    }
}
