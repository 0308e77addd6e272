//! Evidence: the digests of the files that a result was checked with, and whether they still hold.
//!
//! Small files are always read. A large one is read again only if the system says that it was
//! touched since; it is synced before it is read, so that what is written through memory later
//! is told by its times.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::{Unable, files};
use crate::digest::Digest;
use crate::machine::Artifact;
use crate::time::{Clock as _, SystemClock};

/// The largest file that is always read, in bytes.
const SMALL: u64 = 8 * 1024 * 1024;

/// A file that was touched more recently could be touched again without a sign of it.
/// In milliseconds.
const TICK: i64 = 2000;

/// Which file, and when it was last touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// The digests of large files, by what the system said of them when they were read.
#[derive(Debug, Default)]
pub struct Memo(Mutex<BTreeMap<Stamp, Digest>>);

/// The files of a result at an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence(BTreeMap<String, (Digest, Stamp)>);

impl Memo {
    /// The digest of a file, and what the system says of it.
    fn digest(&self, file: &Path) -> io::Result<(Digest, Stamp)> {
        let stamp = Stamp::of(&fs::metadata(file)?);
        let large = stamp.size > SMALL;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if large && let Some(digest) = known.get(&stamp) {
            return Ok((*digest, stamp));
        }
        let open = File::open(file)?;
        if large {
            // What cannot be synced is on a disk where nothing is written later.
            drop(open.sync_data());
        }
        let before = Stamp::of(&open.metadata()?);
        let digest = Digest::of_reader(&open)?;
        let after = Stamp::of(&open.metadata()?);
        if large && before == after && is_old(&open.metadata()?) {
            known.insert(after, digest);
        }
        Ok((digest, after))
    }
}

/// Whether a file was last touched long enough ago that touching it again shows.
fn is_old(found: &Metadata) -> bool {
    SystemClock.now().millis() - found.ctime() * 1000 > TICK
}

impl Evidence {
    /// Looks at the files that globs match now.
    pub fn look(root: &Path, globs: &[String], memo: &Memo) -> Result<Self, Unable> {
        let (found, _) = files::matching(root, globs)?;
        let mut evidence = BTreeMap::new();
        for (path, file) in found {
            let looked = memo
                .digest(&file)
                .map_err(|error| Unable::environmental(format!("cannot read `{path}`: {error}")))?;
            evidence.insert(path, looked);
        }
        Ok(Self(evidence))
    }

    /// For the record.
    pub fn files(&self) -> Vec<Artifact> {
        let files = self.0.iter().map(|(path, (digest, stamp))| Artifact {
            path: path.clone(),
            digest: *digest,
            size: stamp.size,
        });
        files.collect()
    }

    /// The first file of this evidence that was touched before a later look at it, even if it is
    /// as it was. What came to be in between does not count.
    pub fn touched(&self, later: &Self) -> Option<&str> {
        let mut all = self.0.iter();
        let touched = all.find(|(path, seen)| later.0.get(*path) != Some(*seen));
        touched.map(|(path, _)| path.as_str())
    }

    /// The first of some files that is not what it was when it was put away.
    pub fn differs<'a>(&self, kept: &'a [Artifact]) -> Option<&'a str> {
        let same = |file: &&Artifact| {
            let seen = self.0.get(&file.path);
            seen.is_none_or(|(digest, _)| *digest != file.digest)
        };
        kept.iter().find(same).map(|file| file.path.as_str())
    }
}

/// Some files as the system says that they are, to be compared with what it says later: a file that was written
/// and put back was touched.
#[derive(Debug)]
pub struct Traces(Vec<(String, Option<Stamp>)>);

impl Traces {
    /// Looks at files of a workspace.
    pub fn of(root: &Path, files: &[Artifact]) -> Self {
        let files = files.iter();
        let traces = files.map(|file| (file.path.clone(), stamp(root, &file.path)));
        Self(traces.collect())
    }

    /// The first file that was touched since.
    pub fn touched(&self, root: &Path) -> Option<&str> {
        let mut all = self.0.iter();
        let touched = all.find(|(path, before)| stamp(root, path) != *before);
        touched.map(|(path, _)| path.as_str())
    }
}

fn stamp(root: &Path, path: &str) -> Option<Stamp> {
    let found = fs::metadata(root.join(path)).ok()?;
    Some(Stamp::of(&found))
}

/// The way in which a file is not what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It has another content, or cannot be read.
    Changed,
    /// It is not there.
    Gone,
}

/// The first file that is not what it was when it was checked. What is gone counts as changed if
/// `gone` does.
pub fn stale(root: &Path, seen: &[Artifact], memo: &Memo, gone: bool) -> Option<String> {
    let is_stale = |file: &&Artifact| match difference(root, (&file.path, file.digest), memo) {
        Some(Difference::Changed) => true,
        Some(Difference::Gone) => gone,
        None => false,
    };
    seen.iter().find(is_stale).map(|file| file.path.clone())
}

/// Compares a file with what it was: its path in the workspace, and its digest then.
pub fn difference(root: &Path, (path, digest): (&str, Digest), memo: &Memo) -> Option<Difference> {
    let path = root.join(path);
    match memo.digest(&path) {
        Ok((now, _)) if now == digest && files::inside(root, &path).is_ok() => None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Difference::Gone),
        Ok(_) | Err(_) => Some(Difference::Changed),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Evidence, Memo, SMALL, stale};

    fn globs() -> Vec<String> {
        vec!["*.txt".into()]
    }

    #[test]
    fn a_file_that_changes_is_stale_and_one_that_comes_back_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (root, memo) = (dir.path(), Memo::default());
        let put = |text: &str| fs::write(root.join("a.txt"), text).unwrap();
        put("one");
        let before = Evidence::look(root, &globs(), &memo).unwrap();
        let seen = before.files();
        assert_eq!(stale(root, &seen, &memo, true), None);
        put("two");
        assert_eq!(stale(root, &seen, &memo, true).as_deref(), Some("a.txt"));
        let after = Evidence::look(root, &globs(), &memo).unwrap();
        assert_eq!(before.touched(&after), Some("a.txt"));
        assert_eq!(after.differs(&seen), Some("a.txt"));
        fs::write(root.join("new"), "one").unwrap();
        fs::rename(root.join("new"), root.join("a.txt")).unwrap();
        assert_eq!(stale(root, &seen, &memo, true), None);
        let back = Evidence::look(root, &globs(), &memo).unwrap();
        assert_eq!(before.touched(&back), Some("a.txt"));
        fs::remove_file(root.join("a.txt")).unwrap();
        assert_eq!(stale(root, &seen, &memo, true).as_deref(), Some("a.txt"));
        assert_eq!(stale(root, &seen, &memo, false), None);
    }

    #[test]
    fn what_comes_to_be_in_between_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let (root, memo) = (dir.path(), Memo::default());
        fs::write(root.join("a.txt"), "one").unwrap();
        let before = Evidence::look(root, &globs(), &memo).unwrap();
        fs::write(root.join("b.txt"), "two").unwrap();
        let after = Evidence::look(root, &globs(), &memo).unwrap();
        assert_eq!(before.touched(&after), None);
    }

    #[test]
    fn large_files_are_not_read_again_if_nothing_touched_them() {
        let dir = tempfile::tempdir().unwrap();
        let (file, memo) = (dir.path().join("large"), Memo::default());
        let large = fs::File::create(&file).unwrap();
        large.set_len(SMALL + 1).unwrap();
        // It is too young to be remembered.
        memo.digest(&file).unwrap();
        assert!(memo.0.lock().unwrap().is_empty());
        let (digest, stamp) = memo.digest(&file).unwrap();
        memo.0.lock().unwrap().insert(stamp, digest);
        assert_eq!(memo.digest(&file).unwrap(), (digest, stamp));
        large.set_len(SMALL + 2).unwrap();
        assert_ne!(memo.digest(&file).unwrap().0, digest);
    }
}
