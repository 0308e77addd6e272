use std::ffi::OsStr;

use wf_base::untrusted;

/// Returns a file name or path as a model gives it back: quoted as JSON if it contains anything that would be
/// invisible, end the line or look like a quotation, because whoever made the file chose it.
pub(super) fn shown(name: impl AsRef<OsStr>) -> String {
    let name = name.as_ref();
    let text = name.to_string_lossy();
    let plain = !text.contains('"')
        && text.trim() == text
        && !untrusted::hides(&text)
        && !text.contains(['\n', '\t']);
    let shown = if plain {
        text.into_owned()
    } else {
        untrusted::json(&serde_json::Value::String(text.into_owned()).to_string()).into()
    };
    if name.to_str().is_some() { shown } else { format!("{shown} (this name is not UTF-8)") }
}

/// Returns a path in a sentence.
pub(super) fn quoted(path: impl AsRef<OsStr>) -> String {
    let shown = shown(path);
    if shown.starts_with('"') { shown } else { format!("`{shown}`") }
}
