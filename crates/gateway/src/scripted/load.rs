use std::fs;
use std::io::Read as _;
use std::path::Path;

use super::{ModelScript, ScriptError};

/// The maximum size of a script, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Reads a script, whose path is relative to the workspace and leads to a file in it.
pub fn load(root: &Path, path: &str) -> Result<ModelScript, ScriptError> {
    let unreadable = |reason: String| ScriptError::Unreadable { path: path.to_owned(), reason };
    let find = || {
        let root = root.canonicalize()?;
        let file = root.join(path).canonicalize()?;
        Ok::<_, std::io::Error>((root, file))
    };
    let (root, file) = find().map_err(|error| unreadable(format!("cannot read the script: {error}")))?;
    if !file.starts_with(&root) {
        return Err(unreadable("a script must be in the workspace".into()));
    }
    // Opening a pipe could wait for ever.
    if !file.is_file() {
        return Err(unreadable("a script must be a file".into()));
    }
    let mut text = String::new();
    let opened = fs::File::open(&file).map(|file| file.take(MAX_BYTES + 1));
    let read = opened.and_then(|mut file| file.read_to_string(&mut text));
    read.map_err(|error| unreadable(format!("cannot read the script: {error}")))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(unreadable(format!("a script has at most {}", wf_base::units::size(MAX_BYTES))));
    }
    ModelScript::parse(path, &text)
}
