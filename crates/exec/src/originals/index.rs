//! The entries of git's index, read without git: before each run with checks a process would cost more than the run.
//!
//! The format is that of `gitformat-index(5)`, versions 2 to 4, with names of 20 bytes. Entries an index shares with
//! another file are not found, nor are those of another format: their files count as not being in git.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::PathBuf};

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};

use crate::disk::files::FileStamp;

/// The length of the name of an object, in bytes.
const NAME_BYTES: usize = 20;

/// The length of the fields before an object's name, in bytes.
const STAT_BYTES: usize = 40;

/// The bit of the flags saying that more flags follow.
const EXTENDED: u16 = 0x4000;

/// The bits of the flags with the side of a conflict; 0: there is none.
const STAGE: u16 = 0x3000;

/// A file in an index, with what git noted of it when it last looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexedFile {
    /// The path, relative to the top of the work tree.
    pub(super) path: PathBuf,
    /// The name of the object with its content.
    pub(super) object: String,
    mode: u32,
    modified: [u32; 2],
    changed: [u32; 2],
    inode: u32,
    size: u32,
    is_in_conflict: bool,
}

impl IndexedFile {
    /// True if a file is as it is in the object. `written` is when the index was written, in nanoseconds since 1970: a file
    /// of that time may have changed unseen.
    pub(super) fn has(&self, file: FileStamp, written: i64) -> bool {
        let time = |parts: [u32; 2]| i64::from(parts[0]) * 1_000_000_000 + i64::from(parts[1]);
        let is_executable = |mode: u32| mode & 0o100 != 0;
        time(self.modified) < written
            && time(self.modified) == file.modified
            && time(self.changed) == file.changed
            && u64::from(self.size) == file.size
            && u64::from(self.inode) == file.inode & u64::from(u32::MAX)
            && self.mode & 0o170_000 == 0o100_000
            && file.mode & 0o170_000 == 0o100_000
            && is_executable(self.mode) == is_executable(file.mode)
    }
}

/// Reads the entries of an index without conflicts, as far as they can be read.
pub(super) fn entries(bytes: &[u8]) -> Vec<IndexedFile> {
    let mut reader = IndexReader { rest: bytes, path: Vec::new() };
    let mut entries_so_far = Vec::new();
    let (Some(b"DIRC"), Some(version), Some(count)) = (reader.take(4), reader.number(), reader.number())
    else {
        return entries_so_far;
    };
    if !(2..=4).contains(&version) {
        return entries_so_far;
    }
    for _ in 0..count {
        let Some(next) = reader.entry(version) else { break };
        entries_so_far.extend((!next.is_in_conflict).then_some(next));
    }
    entries_so_far
}

pub(super) fn object_name(content: &[u8]) -> String {
    let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    context.update(format!("blob {}\0", content.len()).as_bytes());
    context.update(content);
    hex(context.finish().as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct IndexReader<'a> {
    rest: &'a [u8],
    /// The path of the last entry, of which the next one has only the end (version 4).
    path: Vec<u8>,
}

impl<'a> IndexReader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4).and_then(|bytes| Some(u32::from_be_bytes(bytes.try_into().ok()?)))
    }

    fn short(&mut self) -> Option<u16> {
        self.take(2).and_then(|bytes| Some(u16::from_be_bytes(bytes.try_into().ok()?)))
    }

    fn entry(&mut self, version: u32) -> Option<IndexedFile> {
        let begin = self.rest.len();
        let (changed, modified) = ([self.number()?, self.number()?], [self.number()?, self.number()?]);
        let [_device, inode, mode, _user, _group, size] =
            [self.number()?, self.number()?, self.number()?, self.number()?, self.number()?, self.number()?];
        debug_assert_eq!(begin - self.rest.len(), STAT_BYTES);
        let object = hex(self.take(NAME_BYTES)?);
        let flags = self.short()?;
        if flags & EXTENDED != 0 {
            self.short()?;
        }
        if version == 4 {
            let cut = self.offset()?;
            let prefix = self.path.len().checked_sub(cut)?;
            self.path.truncate(prefix);
        } else {
            self.path.clear();
        }
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let name = self.take(end)?;
        self.path.extend(name);
        self.take(1)?;
        if version < 4 {
            // Entries begin at multiples of eight bytes.
            let length = begin - self.rest.len();
            self.take(length.next_multiple_of(8) - length)?;
        }
        let path = PathBuf::from(OsStr::from_bytes(&self.path));
        let is_in_conflict = flags & STAGE != 0;
        Some(IndexedFile { path, object, mode, modified, changed, inode, size, is_in_conflict })
    }

    /// Reads a number of variable length, as git writes offsets.
    fn offset(&mut self) -> Option<usize> {
        let mut value = 0_usize;
        loop {
            let byte = usize::from(*self.take(1)?.first()?);
            value = value.checked_add(byte & 0x7f)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            value = value.checked_add(1)?.checked_mul(128)?;
        }
    }
}
