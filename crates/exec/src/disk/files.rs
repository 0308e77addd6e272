//! Files matched by globs inside the workspace.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt::Display,
    fs::{self, File, Metadata},
    io::{self, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use rustix::fs::{Mode, OFlags, Stat};
use walkdir::{DirEntry, WalkDir};

use wf_base::{digest::Sha256Digest, redact::SecretMask};
use wf_core::machine::{CachedFile, CachedFileKind};
use wf_model::expr::{EvalError, ExprScope, Template};

use super::confined_dir::ConfinedDir;
use crate::work_error::WorkError;

/// The maximum number of folder entries that one glob may visit.
const MAX_VISITED_ENTRIES: usize = 2_000_000;

/// Folders of tools, which are not part of the work.
const SKIPPED_FOLDERS: [&str; 2] = [".git", ".wf"];

/// Stores the files that globs match with `keep`, a function to digest and size. A glob without a match is an error,
/// and so is a file containing a secret.
pub fn artifacts<E: Display>(
    root: &Path,
    globs: &[String],
    mask: &SecretMask,
    mut keep: impl FnMut(&Path) -> Result<(Sha256Digest, u64), E>,
) -> Result<Vec<CachedFile>, WorkError> {
    let (files, idle) = matching(root, globs)?;
    if let Some(glob) = idle.first() {
        return Err(WorkError::logical(format!("no file matches `{glob}`")));
    }
    let mut artifacts_so_far = Vec::with_capacity(files.len());
    for (path, file) in files {
        let unable = |error: &dyn Display| unable_to_store(&path, error);
        let metadata = fs::metadata(&file).map_err(|error| unable(&error))?;
        refuse_secret(&path, Some(&file), mask)?;
        let (digest, size) = keep(&file).map_err(|error| unable(&error))?;
        let mode = metadata.permissions().mode() & 0o7777;
        artifacts_so_far.push(CachedFile { path, digest, size, mode, kind: CachedFileKind::File });
    }
    Ok(artifacts_so_far)
}

/// Returns the error about a file that cannot be stored.
pub(super) fn unable_to_store(path: &str, error: &dyn Display) -> WorkError {
    WorkError::environmental(format!("cannot store `{path}`: {error}"))
}

/// Refuses a path containing a secret, and a regular file there whose content does.
pub fn refuse_secret(path: &str, file: Option<&PathBuf>, mask: &SecretMask) -> Result<(), WorkError> {
    if let Cow::Owned(shown) = mask.text(path) {
        return Err(WorkError::logical(format!(
            "the file name `{shown}` contains a secret, but names of stored files are recorded"
        )));
    }
    let shows = file.map_or(Ok(false), |file| shows_secret(file, mask));
    if shows.map_err(|error| unable_to_store(path, &error))? {
        return Err(WorkError::logical(format!(
            "`{path}` contains a secret, but stored files can be shown; leave it out"
        )));
    }
    Ok(())
}

/// True if a file contains a secret a mask knows.
fn shows_secret(file: &Path, mask: &SecretMask) -> io::Result<bool> {
    if mask.is_empty() {
        return Ok(false);
    }
    let mut file = File::open(file)?;
    let mut stream = mask.stream();
    let mut bytes = vec![0; 64 * 1024];
    while !stream.has_masked() {
        let length = file.read(&mut bytes)?;
        if length == 0 {
            stream.finish();
            break;
        }
        stream.feed(bytes.get(..length).unwrap_or_default());
    }
    Ok(stream.has_masked())
}

/// Opens a regular file for reading. Anything else fails, without waiting for the writer of a pipe.
pub(crate) fn open_regular(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// Reads at most this many bytes of a file.
pub(crate) fn read_bounded(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the files that globs match, by path below the root, and the globs matching none. A glob matching a folder
/// stands for all files below it.
pub(super) fn matching(
    root: &Path,
    globs: &[String],
) -> Result<(BTreeMap<String, PathBuf>, Vec<String>), WorkError> {
    let mut files = BTreeMap::new();
    let mut idle = Vec::new();
    for glob in globs {
        let before = files.len();
        let again = walk(root, glob, &mut |name, entry| {
            let is_file = is_file(root, entry)?;
            if is_file {
                files.insert(name.to_owned(), entry.path().to_path_buf());
            }
            Ok(is_file)
        })?;
        if files.len() == before && !again {
            idle.push(glob.clone());
        }
    }
    Ok((files, idle))
}

/// Passes the matches of one glob to `take`, a function to true for a match; returns true if there is any. Links are
/// not followed, except one where the search starts.
pub(super) fn walk(
    root: &Path,
    glob: &str,
    take: &mut dyn FnMut(&str, &DirEntry) -> Result<bool, WorkError>,
) -> Result<bool, WorkError> {
    let glob = plain(glob)?;
    let globs = compile(glob)?;
    let start = root.join(literal_part(glob));
    if !start.exists() {
        return Ok(false);
    }
    inside(root, &start)?;
    refuse_state_folder(root, &start)?;
    let mut any = false;
    let walk = WalkDir::new(&start).into_iter().filter_entry(is_of_the_work);
    for (count, entry) in walk.enumerate() {
        if count > MAX_VISITED_ENTRIES {
            let reason = format!("`{glob}` searches more than {MAX_VISITED_ENTRIES} files and folders");
            return Err(WorkError::logical(reason));
        }
        let entry = entry
            .map_err(|error| WorkError::environmental(format!("cannot search for `{glob}`: {error}")))?;
        let Ok(path) = entry.path().strip_prefix(root) else {
            continue;
        };
        if globs.is_match(path) {
            let name = path.to_str().ok_or_else(|| {
                WorkError::logical(format!("the file name `{}` is not valid UTF-8", path.display()))
            })?;
            any |= take(name, &entry)?;
        }
    }
    Ok(any)
}

/// True if an entry is a file or a link to a file, which must be inside the workspace.
fn is_file(root: &Path, entry: &DirEntry) -> Result<bool, WorkError> {
    if !entry.path_is_symlink() {
        return Ok(entry.file_type().is_file());
    }
    if !fs::metadata(entry.path()).is_ok_and(|found: Metadata| found.is_file()) {
        return Ok(false);
    }
    inside(root, entry.path())?;
    refuse_state_folder(root, entry.path()).map(|()| true)
}

/// Refuses a path leading into the state folder: stored files can be shown, and restored to places readable by users
/// who may not read the state.
pub(super) fn refuse_state_folder(root: &Path, path: &Path) -> Result<(), WorkError> {
    let state = fs::canonicalize(root.join(".wf")).ok();
    let meant = fs::canonicalize(path).ok();
    match (meant, state) {
        (Some(meant), Some(state)) if meant.starts_with(&state) => Err(WorkError::logical(format!(
            "`{}` points into the state directory of wf",
            path.strip_prefix(root).unwrap_or(path).display()
        ))),
        _ => Ok(()),
    }
}

fn is_of_the_work(entry: &DirEntry) -> bool {
    entry.depth() == 0 || SKIPPED_FOLDERS.iter().all(|name| entry.file_name() != *name)
}

/// Returns a path or glob without a leading `./`; fails if it leaves its starting point.
pub fn plain(glob: &str) -> Result<&str, WorkError> {
    let plain = glob.trim_start_matches("./").trim_end_matches('/');
    if plain.starts_with('/') || plain.split('/').any(|part| part == "..") {
        return Err(WorkError::logical(format!("`{glob}` points outside the workspace")));
    }
    Ok(plain)
}

/// Renders a template as a glob: special characters in its values are literal.
pub fn glob(template: &Template, scope: &dyn ExprScope) -> Result<String, EvalError> {
    template.render_quoted(scope, |value| literal(&value))
}

/// The placeholder for an unknown value. No path contains it.
const UNKNOWN_VALUE: &str = "\0";

/// Like [`glob`], as far as the values are known; an unknown value matches any name, or any path
/// where nothing stands beside it. `None` if nothing else is in the template.
pub fn glob_so_far(template: &Template, scope: &dyn ExprScope) -> Option<String> {
    let glob = template.render_known(scope, |value| literal(&value), UNKNOWN_VALUE)?;
    let parts = glob.split('/').map(|part| match part {
        UNKNOWN_VALUE => "**".to_owned(),
        part => part.replace(UNKNOWN_VALUE, "*"),
    });
    Some(parts.collect::<Vec<_>>().join("/"))
}

/// Compiles globs for files of the workspace; invalid ones match nothing.
pub(crate) fn globs<'a>(globs: impl Iterator<Item = &'a str>) -> Vec<GlobSet> {
    let plain = globs.filter_map(|glob| plain(glob).ok());
    plain.filter_map(|glob| compile(glob).ok()).collect()
}

/// True if one of some globs matches a path of the workspace; invalid ones match nothing.
pub fn matches_any(all: impl IntoIterator<Item = String>, path: &Path) -> bool {
    let patterns: Vec<String> = all.into_iter().collect();
    globs(patterns.iter().map(String::as_str)).iter().any(|glob| glob.is_match(path))
}

/// Returns a glob matching only this text.
fn literal(text: &str) -> String {
    let mut glob = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '{' | '}' | ',' | '\\') {
            glob.extend(['[', letter, ']']);
        } else {
            glob.push(letter);
        }
    }
    glob
}

/// Returns the folders a glob names before its first special character, the start of the search.
pub(super) fn literal_part(glob: &str) -> &str {
    match glob.find(['*', '?', '[', '{', '\\']) {
        None => glob,
        Some(special) => {
            let before = glob.get(..special).unwrap_or_default();
            before.rsplit_once('/').map_or("", |(folder, _)| folder)
        }
    }
}

/// Compiles a glob so it also matches everything below its matches.
pub(super) fn compile(glob: &str) -> Result<GlobSet, WorkError> {
    let unable = |error: globset::Error| WorkError::logical(format!("invalid glob: {error}"));
    let below = if glob.is_empty() { "**".into() } else { format!("{glob}/**") };
    let mut set = GlobSetBuilder::new();
    for text in [glob, &below] {
        set.add(GlobBuilder::new(text).literal_separator(true).build().map_err(unable)?);
    }
    set.build().map_err(unable)
}

/// Refuses a path leading out of the workspace through links.
pub(super) fn inside(root: &Path, path: &Path) -> Result<(), WorkError> {
    let below = path.strip_prefix(root).unwrap_or(path);
    let file = ConfinedDir::open(root).and_then(|root| root.find(below));
    file.map(drop).map_err(|missed| missed.unable(below))
}

/// The device and the inode of a file, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
}

/// The metadata of one version of a file: it differs even if the file was changed and put back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileStamp {
    /// The kind and the permissions.
    pub(crate) mode: u32,
    pub(crate) inode: u64,
    /// The size in bytes.
    pub(crate) size: u64,
    /// The modification time in nanoseconds since 1970.
    pub(crate) modified: i64,
    /// The change time in nanoseconds since 1970.
    pub(crate) changed: i64,
}

impl From<Stat> for FileIdentity {
    fn from(stat: Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

impl From<Stat> for FileStamp {
    fn from(stat: Stat) -> Self {
        let nanos = |seconds: i64, rest: u64| {
            let rest = i64::try_from(rest).unwrap_or_default();
            seconds.saturating_mul(1_000_000_000).saturating_add(rest)
        };
        Self {
            mode: stat.st_mode,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            modified: nanos(stat.st_mtime, stat.st_mtime_nsec),
            changed: nanos(stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

#[cfg(test)]
mod tests;
