use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use super::{Folder, Manifest, Node, Stamp};

/// The bytes are no manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no manifest of a workspace")]
pub struct Malformed;

/// Where a folder ends.
const END: &[u8] = b".";

impl Manifest {
    /// The record of a manifest: lines that end with NUL, a folder before what is in it, and a `.`
    /// behind that. Each has mode (octal), inode, size, times and name.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(OsStr::new("/"), &self.top, &mut bytes);
        bytes
    }

    /// Reads a record.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let bytes = bytes.strip_suffix(b"\0").ok_or(Malformed)?;
        let mut lines = bytes.split(|byte| *byte == 0);
        let mut open: Vec<(OsString, Folder)> = Vec::new();
        loop {
            let line = lines.next().ok_or(Malformed)?;
            let node = if line == END {
                let (name, folder) = open.pop().ok_or(Malformed)?;
                if open.is_empty() {
                    let is_last = lines.next().is_none();
                    return is_last.then_some(Self { top: folder }).ok_or(Malformed);
                }
                (name, Node::Folder(folder))
            } else {
                let (stamp, name) = entry(line).ok_or(Malformed)?;
                if stamp.is_folder() {
                    let entries = Vec::new();
                    open.push((name, Folder { stamp, entries }));
                    continue;
                }
                (name, Node::File(stamp))
            };
            open.last_mut().ok_or(Malformed)?.1.entries.push(node);
        }
    }
}

impl Stamp {
    fn is_folder(self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }
}

fn write(name: &OsStr, folder: &Folder, bytes: &mut Vec<u8>) {
    line(name, folder.stamp, bytes);
    for (name, node) in &folder.entries {
        match node {
            Node::Folder(inner) => write(name, inner, bytes),
            Node::File(stamp) => line(name, *stamp, bytes),
        }
    }
    bytes.extend(END);
    bytes.push(0);
}

fn line(name: &OsStr, stamp: Stamp, bytes: &mut Vec<u8>) {
    let Stamp {
        mode,
        inode,
        size,
        modified,
        changed,
    } = stamp;
    bytes.extend(format!("{mode:o} {inode} {size} {modified} {changed} ").bytes());
    bytes.extend(name.as_bytes());
    bytes.push(0);
}

fn entry(line: &[u8]) -> Option<(Stamp, OsString)> {
    let mut parts = line.splitn(6, |byte| *byte == b' ');
    let mut number = || std::str::from_utf8(parts.next()?).ok();
    let stamp = Stamp {
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
    use std::fs;
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;
    use crate::exec::manifest::Excluded;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/deep/er")).unwrap();
        fs::write(dir.path().join("a/with space\nand line"), "x").unwrap();
        let odd = OsString::from_vec(vec![b'.', 0xff, b' ']);
        fs::write(dir.path().join(odd), "").unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("link")).unwrap();
        let manifest = Manifest::of(dir.path(), &Excluded::default()).unwrap();
        assert_eq!(manifest.count(), 6);
        let bytes = manifest.to_bytes();
        assert_eq!(Manifest::from_bytes(&bytes).unwrap(), manifest);
        for cut in 0..bytes.len() {
            assert_eq!(Manifest::from_bytes(&bytes[..cut]), Err(Malformed), "{cut}");
        }
        let twice = [&bytes[..], &bytes[..]].concat();
        assert_eq!(Manifest::from_bytes(&twice), Err(Malformed));
    }
}
