use std::io::Read as _;

use super::{
    answer::quoted, error::FileToolError, read::as_text, workspace::ToolWorkspace, write::WriteTarget,
};

/// The largest file edited, in bytes.
const MAX_EDITED_BYTES: u64 = 8 << 20;

/// A text and the text in its place.
pub(super) struct TextReplacement<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
}

/// Replaces a text occurring exactly once in a file.
pub(super) fn edit(
    workspace: &ToolWorkspace,
    path: &str,
    replacement: &TextReplacement<'_>,
    writable: Option<&[String]>,
) -> Result<String, FileToolError> {
    let TextReplacement { old, new } = replacement;
    if old == new {
        return Err(FileToolError::SameText);
    }
    let mut bytes = Vec::new();
    let file = workspace.open_file(path)?;
    let read = file.take(MAX_EDITED_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| FileToolError::failed(path, "read", error))?;
    if bytes.len() as u64 > MAX_EDITED_BYTES {
        return Err(FileToolError::TooLarge { path: quoted(path), most: MAX_EDITED_BYTES });
    }
    let text = as_text(path, &bytes, false)?;
    let (before, after) =
        text.split_once(*old).ok_or_else(|| FileToolError::NoMatch { path: quoted(path) })?;
    // Occurrences may overlap: then it is not clear either which one is meant.
    let count = overlapping_matches(text, old);
    if count > 1 {
        return Err(FileToolError::ManyMatches { path: quoted(path), count });
    }
    let target = WriteTarget::find(workspace, path, writable)?;
    let edited = format!("{before}{new}{after}");
    target.replace(&edited).map_err(|error| FileToolError::unwritten(path, error, writable))?;
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    Ok(format!("replaced the text in {}, line {line}", quoted(path)))
}

fn overlapping_matches(text: &str, old: &str) -> usize {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let (mut count, mut from) = (0, 0);
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(old)) {
        count += 1;
        from += at + step;
    }
    count
}
