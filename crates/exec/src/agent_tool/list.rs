use std::{collections::BTreeMap, ffi::OsStr, os::unix::ffi::OsStrExt as _};

use rustix::fs::{AtFlags, Dir, FileType};

use super::{answer::shown, error::FileToolError, workspace::ToolWorkspace};

/// The maximum number of listed entries.
const MAX_ENTRIES: usize = 1_000;

/// The maximum number of entries read: a folder may have any number.
const MAX_READ_ENTRIES: usize = 1_000_000;

/// Lists the entries of a folder by name.
pub(super) fn list(workspace: &ToolWorkspace, path: &str) -> Result<String, FileToolError> {
    let failed = |error: rustix::io::Errno| FileToolError::failed(path, "listed", error.into());
    let folder = workspace.open_folder(path)?;
    let mut first = BTreeMap::new();
    let mut count = 0;
    for entry in Dir::read_from(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        count += 1;
        first.insert(name.to_vec(), entry.file_type());
        if first.len() > MAX_ENTRIES {
            first.pop_last();
        }
        if count >= MAX_READ_ENTRIES {
            break;
        }
    }
    let mut lines: Vec<String> = Vec::with_capacity(first.len() + 1);
    for (name, kind) in &first {
        let name = OsStr::from_bytes(name);
        let kind = match kind {
            // Some file systems do not say.
            FileType::Unknown => rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            kind => *kind,
        };
        lines.push(match kind {
            FileType::Directory => format!("{}/", shown(name)),
            FileType::Symlink => match rustix::fs::readlinkat(&folder, name, Vec::new()) {
                Ok(target) => format!("{} -> {}", shown(name), shown(OsStr::from_bytes(target.to_bytes()))),
                Err(_) => format!("{} (a link)", shown(name)),
            },
            FileType::RegularFile | FileType::Unknown => shown(name),
            other => format!("{} ({})", shown(name), super::workspace::kind_name(other)),
        });
    }
    if count == 0 {
        return Ok("[the folder is empty]".to_owned());
    }
    if count > first.len() {
        let more = if count >= MAX_READ_ENTRIES { "at least " } else { "" };
        lines.push(format!("[the first {} of {more}{count} entries]", first.len()));
    }
    Ok(lines.join("\n"))
}
