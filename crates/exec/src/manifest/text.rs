//! The text of a manifest, for the record of a run.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
};

use rustix::fs::FileType;

use super::{ManifestFolder, ManifestNode, WorkspaceManifest};
use crate::disk::files::FileStamp;

/// The error for bytes without a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a workspace manifest")]
pub struct ManifestError;

const FOLDER_END: &[u8] = b".";

impl WorkspaceManifest {
    /// Encodes a manifest: lines that end with NUL, a folder before its content, and a `.` after
    /// that. Each has mode (octal), inode, size, times and name.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(OsStr::new("/"), &self.top_folder, &mut bytes);
        bytes
    }

    /// Decodes a manifest.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ManifestError> {
        let bytes = bytes.strip_suffix(b"\0").ok_or(ManifestError)?;
        let mut lines = bytes.split(|byte| *byte == 0);
        let mut open: Vec<(OsString, ManifestFolder)> = Vec::new();
        loop {
            let line = lines.next().ok_or(ManifestError)?;
            let node = if line == FOLDER_END {
                let (name, folder) = open.pop().ok_or(ManifestError)?;
                if open.is_empty() {
                    let is_last = lines.next().is_none();
                    return is_last.then_some(Self { top_folder: folder }).ok_or(ManifestError);
                }
                (name, ManifestNode::Folder(folder))
            } else {
                let (stamp, name) = entry(line).ok_or(ManifestError)?;
                if FileType::from_raw_mode(stamp.mode) == FileType::Directory {
                    let entries = Vec::new();
                    open.push((name, ManifestFolder { stamp, entries }));
                    continue;
                }
                (name, ManifestNode::File(stamp))
            };
            open.last_mut().ok_or(ManifestError)?.1.entries.push(node);
        }
    }
}

fn write(name: &OsStr, folder: &ManifestFolder, bytes: &mut Vec<u8>) {
    line(name, folder.stamp, bytes);
    for (name, node) in &folder.entries {
        match node {
            ManifestNode::Folder(inner) => write(name, inner, bytes),
            ManifestNode::File(stamp) => line(name, *stamp, bytes),
        }
    }
    bytes.extend(FOLDER_END);
    bytes.push(0);
}

fn line(name: &OsStr, stamp: FileStamp, bytes: &mut Vec<u8>) {
    let FileStamp { mode, inode, size, modified, changed } = stamp;
    bytes.extend(format!("{mode:o} {inode} {size} {modified} {changed} ").bytes());
    bytes.extend(name.as_bytes());
    bytes.push(0);
}

fn entry(line: &[u8]) -> Option<(FileStamp, OsString)> {
    let mut parts = line.splitn(6, |byte| *byte == b' ');
    let mut number = || std::str::from_utf8(parts.next()?).ok();
    let stamp = FileStamp {
        mode: u32::from_str_radix(number()?, 8).ok()?,
        inode: number()?.parse().ok()?,
        size: number()?.parse().ok()?,
        modified: number()?.parse().ok()?,
        changed: number()?.parse().ok()?,
    };
    let name = parts.next().filter(|name| !name.is_empty())?;
    Some((stamp, OsString::from_vec(name.to_vec())))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::ffi::OsStringExt as _};

    use super::*;
    use crate::manifest::ExcludedFiles;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/deep/er")).unwrap();
        fs::write(dir.path().join("a/with space\nand line"), "x").unwrap();
        let odd = OsString::from_vec(vec![b'.', 0xff, b' ']);
        fs::write(dir.path().join(odd), "").unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("link")).unwrap();
        let manifest = WorkspaceManifest::of_workspace(dir.path(), &ExcludedFiles::default()).unwrap();
        assert_eq!(manifest.count(), 6);
        let bytes = manifest.to_bytes();
        assert_eq!(WorkspaceManifest::from_bytes(&bytes).unwrap(), manifest);
        for cut in 0..bytes.len() {
            assert_eq!(WorkspaceManifest::from_bytes(&bytes[..cut]), Err(ManifestError), "{cut}");
        }
        let twice = [&bytes[..], &bytes[..]].concat();
        assert_eq!(WorkspaceManifest::from_bytes(&twice), Err(ManifestError));
    }
}
