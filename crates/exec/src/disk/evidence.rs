//! Evidence: the digests of the files a result was checked with, and the test for stale ones.
//!
//! Small files are always read. A large one is read again only if the system reports it was touched; it is synced
//! before it is read, so that later writes through memory mappings change its times.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
    sync::Mutex,
};

use rustix::fs::{OFlags, Stat};

use wf_base::{
    digest::Sha256Digest,
    time::{Clock as _, SystemClock},
};
use wf_core::machine::Artifact;

use super::files::{self, FileIdentity, FileStamp};
use crate::work_error::WorkError;

/// The largest file always read, in bytes.
const SMALL_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The time in milliseconds during which another change to a file may leave its timestamp
/// unchanged.
const TICK: i64 = 2000;

/// A version of a file: its identity and its metadata.
type FileVersion = (FileIdentity, FileStamp);

/// The digests of large files, by their stamps at the time they were read.
#[derive(Debug, Default)]
pub struct DigestMemo(Mutex<BTreeMap<FileVersion, Sha256Digest>>);

/// The files of a result at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvidenceSnapshot {
    files: BTreeMap<String, (Sha256Digest, FileVersion)>,
    /// The paths listed in `writes` alone.
    products: BTreeSet<String>,
}

impl DigestMemo {
    /// Returns the digest of a file and its stamp.
    fn digest(&self, file: &Path) -> io::Result<(Sha256Digest, FileVersion)> {
        let stamp = version(rustix::fs::stat(file)?);
        let large = stamp.1.size > SMALL_FILE_BYTES;
        let mut digests = crate::runtime::lock_mutex(&self.0);
        if large && let Some(digest) = digests.get(&stamp) {
            return Ok((*digest, stamp));
        }
        let open = files::open_regular(file, OFlags::RDONLY)?;
        if large {
            // A file that cannot be synced is on a read-only disk.
            drop(open.sync_data());
        }
        let before = version(rustix::fs::fstat(&open)?);
        let digest = Sha256Digest::of_reader(&open)?;
        let after = version(rustix::fs::fstat(&open)?);
        if large && before == after && is_old(&after.1) {
            digests.insert(after, digest);
        }
        Ok((digest, after))
    }
}

/// True if the last change is old enough for another one to show.
fn is_old(stamp: &FileStamp) -> bool {
    SystemClock.now().millis() - stamp.changed / 1_000_000 > TICK
}

fn version(stat: Stat) -> FileVersion {
    (stat.into(), stat.into())
}

impl EvidenceSnapshot {
    /// Reads the present matches of globs.
    pub fn read_matching(root: &Path, globs: &[String], memo: &DigestMemo) -> Result<Self, WorkError> {
        let (files, _) = files::matching(root, globs)?;
        let mut evidence = Self::default();
        for (path, file) in files {
            evidence.read(path, &file, memo)?;
        }
        Ok(evidence)
    }

    /// Adds the regular files at some paths, which are products of the result. A folder is not searched, and what is
    /// missing or outside the workspace is left out.
    pub fn with_products(
        mut self,
        root: &Path,
        paths: &[String],
        memo: &DigestMemo,
    ) -> Result<Self, WorkError> {
        for path in paths.iter().filter(|path| !self.files.contains_key(*path)).collect::<BTreeSet<_>>() {
            let file = root.join(path);
            let is_inside =
                || files::inside(root, &file).and_then(|()| files::refuse_state_folder(root, &file));
            if fs::metadata(&file).is_ok_and(|found| found.is_file()) && is_inside().is_ok() {
                self.read(path.clone(), &file, memo)?;
                self.products.insert(path.clone());
            }
        }
        Ok(self)
    }

    fn read(&mut self, path: String, file: &Path, memo: &DigestMemo) -> Result<(), WorkError> {
        let looked = memo.digest(file);
        let looked =
            looked.map_err(|error| WorkError::environmental(format!("cannot read `{path}`: {error}")))?;
        self.files.insert(path, looked);
        Ok(())
    }

    /// Returns the files for the log.
    pub fn files(&self) -> Vec<Artifact> {
        let files = self.files.iter().map(|(path, (digest, (_, stamp)))| Artifact {
            path: path.clone(),
            digest: *digest,
            size: stamp.size,
            released_by: self.products.contains(path).then(Vec::new),
        });
        files.collect()
    }

    /// Returns the first file of this evidence touched before a later look, even if it is unchanged. Files created in
    /// between do not count.
    pub fn touched(&self, later: &Self) -> Option<&str> {
        let mut entries = self.files.iter();
        let touched = entries.find(|(path, entry)| later.files.get(*path) != Some(*entry));
        touched.map(|(path, _)| path.as_str())
    }

    /// Returns the first file differing from the stored one.
    pub fn differs<'a>(&self, artifacts: &'a [Artifact]) -> Option<&'a str> {
        let same = |artifact: &&Artifact| {
            let entry = self.files.get(&artifact.path);
            entry.is_none_or(|(digest, _)| *digest != artifact.digest)
        };
        artifacts.iter().find(same).map(|file| file.path.as_str())
    }
}

/// The stamps of some files, for a later comparison: a file written and put back counts as touched.
#[derive(Debug)]
pub struct EvidenceTrace(Vec<(String, Option<FileVersion>)>);

impl EvidenceTrace {
    /// Records the stamps of files of a workspace, by their paths.
    pub fn from_paths<'a>(root: &Path, paths: impl IntoIterator<Item = &'a str>) -> Self {
        Self(paths.into_iter().map(|path| (path.to_owned(), stamp(root, path))).collect())
    }

    /// Returns the first file touched since.
    pub fn touched(&self, root: &Path) -> Option<&str> {
        self.touched_among(root, |_| true)
    }

    /// Returns the first of some of these files touched since.
    pub fn touched_among(&self, root: &Path, is_of_them: impl Fn(&str) -> bool) -> Option<&str> {
        let mut entries = self.0.iter().filter(|(path, _)| is_of_them(path));
        let touched = entries.find(|(path, before)| stamp(root, path) != *before);
        touched.map(|(path, _)| path.as_str())
    }
}

fn stamp(root: &Path, path: &str) -> Option<FileVersion> {
    rustix::fs::stat(root.join(path)).ok().map(version)
}

/// The way in which a file differs from its recorded state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvidenceDifference {
    /// The content differs or cannot be read.
    Changed,
    /// The file does not exist.
    Gone,
}

/// Returns the first stale file. A missing file counts as stale if `gone` is set.
pub fn first_stale(root: &Path, artifacts: &[Artifact], memo: &DigestMemo, gone: bool) -> Option<String> {
    let is_stale = |artifact: &&Artifact| match difference(root, &artifact.path, artifact.digest, memo) {
        Some(EvidenceDifference::Changed) => true,
        Some(EvidenceDifference::Gone) => gone,
        None => false,
    };
    artifacts.iter().find(is_stale).map(|file| file.path.clone())
}

/// Compares a file, given by its path in the workspace, with its recorded digest.
pub fn difference(
    root: &Path,
    path: &str,
    digest: Sha256Digest,
    memo: &DigestMemo,
) -> Option<EvidenceDifference> {
    let path = root.join(path);
    match memo.digest(&path) {
        Ok((now, _)) if now == digest && files::inside(root, &path).is_ok() => None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(EvidenceDifference::Gone),
        Ok(_) | Err(_) => Some(EvidenceDifference::Changed),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{
        DigestMemo, EvidenceDifference, EvidenceSnapshot, SMALL_FILE_BYTES, difference, first_stale,
    };

    fn globs() -> Vec<String> {
        vec!["*.txt".into()]
    }

    #[test]
    fn a_file_that_changes_is_stale_and_one_that_comes_back_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (root, memo) = (dir.path(), DigestMemo::default());
        let put = |text: &str| fs::write(root.join("a.txt"), text).unwrap();
        put("one");
        let before = EvidenceSnapshot::read_matching(root, &globs(), &memo).unwrap();
        let seen = before.files();
        assert_eq!(first_stale(root, &seen, &memo, true), None);
        put("two");
        assert_eq!(first_stale(root, &seen, &memo, true).as_deref(), Some("a.txt"));
        let after = EvidenceSnapshot::read_matching(root, &globs(), &memo).unwrap();
        assert_eq!(before.touched(&after), Some("a.txt"));
        assert_eq!(after.differs(&seen), Some("a.txt"));
        fs::write(root.join("new"), "one").unwrap();
        fs::rename(root.join("new"), root.join("a.txt")).unwrap();
        assert_eq!(first_stale(root, &seen, &memo, true), None);
        let back = EvidenceSnapshot::read_matching(root, &globs(), &memo).unwrap();
        assert_eq!(before.touched(&back), Some("a.txt"));
        fs::remove_file(root.join("a.txt")).unwrap();
        assert_eq!(first_stale(root, &seen, &memo, true).as_deref(), Some("a.txt"));
        assert_eq!(first_stale(root, &seen, &memo, false), None);
    }

    #[test]
    fn what_comes_to_be_in_between_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let (root, memo) = (dir.path(), DigestMemo::default());
        fs::write(root.join("a.txt"), "one").unwrap();
        let before = EvidenceSnapshot::read_matching(root, &globs(), &memo).unwrap();
        fs::write(root.join("b.txt"), "two").unwrap();
        let after = EvidenceSnapshot::read_matching(root, &globs(), &memo).unwrap();
        assert_eq!(before.touched(&after), None);
    }

    #[test]
    fn products_are_regular_files_and_no_folder_is_searched() {
        let dir = tempfile::tempdir().unwrap();
        let (root, memo) = (dir.path(), DigestMemo::default());
        fs::create_dir_all(root.join("lib/deep")).unwrap();
        for path in ["a.txt", "b.py", "lib/deep/c.py"] {
            fs::write(root.join(path), path).unwrap();
        }
        std::os::unix::fs::symlink("/etc/hostname", root.join("outside")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), rustix::fs::Mode::RWXU).unwrap();
        let paths = ["a.txt", "b.py", "lib", "lib/deep", "missing", "outside", "pipe"].map(str::to_owned);
        let seen = EvidenceSnapshot::read_matching(root, &globs(), &memo).unwrap();
        let files = seen.with_products(root, &paths, &memo).unwrap().files();
        let told: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.is_product())).collect();
        assert_eq!(told, [("a.txt", false), ("b.py", true)]);
        assert_eq!(difference(root, "pipe", files[0].digest, &memo), Some(EvidenceDifference::Changed));
    }

    #[test]
    fn large_files_are_not_read_again_if_nothing_touched_them() {
        let dir = tempfile::tempdir().unwrap();
        let (file, memo) = (dir.path().join("large"), DigestMemo::default());
        let large = fs::File::create(&file).unwrap();
        large.set_len(SMALL_FILE_BYTES + 1).unwrap();
        // Too recent to be remembered.
        memo.digest(&file).unwrap();
        assert!(memo.0.lock().unwrap().is_empty());
        let (digest, stamp) = memo.digest(&file).unwrap();
        memo.0.lock().unwrap().insert(stamp, digest);
        assert_eq!(memo.digest(&file).unwrap(), (digest, stamp));
        large.set_len(SMALL_FILE_BYTES + 2).unwrap();
        assert_ne!(memo.digest(&file).unwrap().0, digest);
    }
}
