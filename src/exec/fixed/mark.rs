use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::digest::Digest;

/// How much of a file says whether it is text, and who executes it.
const HEAD: u64 = 512;

/// What a file is at an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Its digest; `None`: it is not there, or is no file.
    pub(super) digest: Option<Digest>,
    /// Which file it is and when it was last touched; it differs also for a file that was changed
    /// and put back.
    stamp: Option<(u64, i64, i64)>,
}

impl Mark {
    /// The mark of a file of the workspace: the digest of its content. Of a file elsewhere it is
    /// the digest of what the system says of it: those are programs, large, and not the work's.
    pub(super) fn of(file: &Path, is_of_workspace: bool) -> Self {
        let Ok(found) = fs::metadata(file) else {
            return Self::default();
        };
        if !found.is_file() {
            return Self::default();
        }
        let content = is_of_workspace
            .then(|| File::open(file).and_then(Digest::of_reader).ok())
            .flatten();
        Self {
            digest: Some(content.unwrap_or_else(|| identity(&found))),
            stamp: Some((found.ino(), found.ctime(), found.ctime_nsec())),
        }
    }

    /// The mark of a part of a file's content: other parts may be touched.
    pub(super) fn of_text(text: &str) -> Self {
        Self {
            digest: Some(Digest::of(text.as_bytes())),
            stamp: None,
        }
    }
}

/// What the system says of a file. The device is not in it: its number can be another one after
/// the machine was started anew.
fn identity(found: &Metadata) -> Digest {
    let said = format!(
        "file {} {} {}.{} {}.{}",
        found.ino(),
        found.size(),
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec()
    );
    Digest::of(said.as_bytes())
}

/// The beginning of a file; empty if it cannot be read or is none.
pub(super) fn head(file: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    if file.is_file() {
        let read = File::open(file).and_then(|file| file.take(HEAD).read_to_end(&mut head));
        if read.is_err() {
            head.clear();
        }
    }
    head
}
