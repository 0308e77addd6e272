//! Files that globs name inside the workspace.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use walkdir::{DirEntry, WalkDir};

use super::Unable;
use super::beneath::Beneath;
use crate::digest::Digest;
use crate::expr::{EvalError, Scope, Template};
use crate::machine::Artifact;
use crate::mask::Mask;
use crate::store::KeptFile;

/// The most entries of folders that one glob may look at.
const MOST: usize = 2_000_000;

/// Folders that belong to tools, not to the work.
const SKIPPED: [&str; 2] = [".git", ".wf"];

/// Puts the files that globs match away with `keep`, which gives digest and size. A glob that
/// matches nothing is an error, and so is a file that a secret can be read from.
pub fn artifacts<E: Display>(
    root: &Path,
    globs: &[String],
    mask: &Mask,
    mut keep: impl FnMut(&Path) -> Result<(Digest, u64), E>,
) -> Result<Vec<Artifact>, Unable> {
    let kept = cached(root, globs, mask, &mut keep)?;
    let artifact = |file: KeptFile| Artifact {
        path: file.path,
        digest: file.digest,
        size: file.size,
    };
    Ok(kept.into_iter().map(artifact).collect())
}

/// As [`artifacts`], with the permissions that bringing them back needs.
pub fn cached<E: Display>(
    root: &Path,
    globs: &[String],
    mask: &Mask,
    mut keep: impl FnMut(&Path) -> Result<(Digest, u64), E>,
) -> Result<Vec<KeptFile>, Unable> {
    let (files, idle) = matching(root, globs)?;
    if let Some(glob) = idle.first() {
        return Err(Unable::logical(format!("no file matches `{glob}`")));
    }
    let mut kept = Vec::with_capacity(files.len());
    for (path, file) in files {
        let unable =
            |error: &dyn Display| Unable::environmental(format!("cannot keep `{path}`: {error}"));
        if let Cow::Owned(shown) = mask.text(&path) {
            return Err(Unable::logical(format!(
                "the name of `{shown}` contains a secret, and names of what is kept are recorded"
            )));
        }
        let metadata = fs::metadata(&file).map_err(|error| unable(&error))?;
        if shows_secret(&file, mask).map_err(|error| unable(&error))? {
            return Err(Unable::logical(format!(
                "`{path}` contains a secret, and what is kept can be shown; leave it out"
            )));
        }
        let (digest, size) = keep(&file).map_err(|error| unable(&error))?;
        let mode = metadata.permissions().mode() & 0o7777;
        kept.push(KeptFile {
            path,
            digest,
            size,
            mode,
        });
    }
    Ok(kept)
}

/// Whether a file has a secret in it that a mask knows.
fn shows_secret(file: &Path, mask: &Mask) -> io::Result<bool> {
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

/// Brings files back with `fetch`, which writes a content to a path. Their folders are made.
pub fn restore<E: Display>(
    root: &Path,
    files: &[KeptFile],
    mut fetch: impl FnMut(&KeptFile, &Path) -> Result<(), E>,
) -> Result<(), Unable> {
    for file in files {
        let unable = |error: &dyn Display| {
            Unable::environmental(format!("cannot bring back `{}`: {error}", file.path))
        };
        let path = Path::new(plain(&file.path)?);
        if let Some(folder) = path.parent() {
            let made = Beneath::open(root).and_then(|root| root.make_folder(folder));
            made.map_err(|missed| missed.unable(folder))?;
        }
        fetch(file, &root.join(path)).map_err(|error| unable(&error))?;
    }
    Ok(())
}

/// The files that globs match, by their paths below the root, and the globs that match none. A
/// glob that matches a folder means all files below it.
pub(super) fn matching(
    root: &Path,
    globs: &[String],
) -> Result<(BTreeMap<String, PathBuf>, Vec<String>), Unable> {
    let mut files = BTreeMap::new();
    let mut idle = Vec::new();
    for glob in globs {
        let before = files.len();
        let again = walk(root, glob, &mut files)?;
        if files.len() == before && !again {
            idle.push(glob.clone());
        }
    }
    Ok((files, idle))
}

/// Adds the files that one glob matches; gives whether it matched any.
fn walk(root: &Path, glob: &str, files: &mut BTreeMap<String, PathBuf>) -> Result<bool, Unable> {
    let glob = plain(glob)?;
    let globs = compile(glob)?;
    let start = root.join(literal_part(glob));
    if !start.exists() {
        return Ok(false);
    }
    inside(root, &start)?;
    apart(root, &start)?;
    let mut any = false;
    let walk = WalkDir::new(&start)
        .into_iter()
        .filter_entry(is_of_the_work);
    for (count, entry) in walk.enumerate() {
        if count > MOST {
            let why = format!("`{glob}` looks at more than {MOST} files and folders");
            return Err(Unable::logical(why));
        }
        let entry = entry
            .map_err(|error| Unable::environmental(format!("cannot look for `{glob}`: {error}")))?;
        let Ok(path) = entry.path().strip_prefix(root) else {
            continue;
        };
        if globs.is_match(path) && is_file(root, &entry)? {
            let name = path.to_str().ok_or_else(|| {
                Unable::logical(format!("the name of `{}` is not UTF-8", path.display()))
            })?;
            files.insert(name.to_owned(), entry.into_path());
            any = true;
        }
    }
    Ok(any)
}

/// Whether an entry is a file, or a link to one, which must be inside the workspace.
fn is_file(root: &Path, entry: &DirEntry) -> Result<bool, Unable> {
    if !entry.path_is_symlink() {
        return Ok(entry.file_type().is_file());
    }
    if !fs::metadata(entry.path()).is_ok_and(|found: Metadata| found.is_file()) {
        return Ok(false);
    }
    inside(root, entry.path())?;
    apart(root, entry.path()).map(|()| true)
}

/// Refuses a path that leads into the state: what is kept can be shown, and brought back where
/// those can read it to whom the state is closed.
fn apart(root: &Path, path: &Path) -> Result<(), Unable> {
    let state = fs::canonicalize(root.join(".wf")).ok();
    let meant = fs::canonicalize(path).ok();
    match (meant, state) {
        (Some(meant), Some(state)) if meant.starts_with(&state) => Err(Unable::logical(format!(
            "`{}` leads into the state of wf",
            path.strip_prefix(root).unwrap_or(path).display()
        ))),
        _ => Ok(()),
    }
}

fn is_of_the_work(entry: &DirEntry) -> bool {
    entry.depth() == 0 || SKIPPED.iter().all(|name| entry.file_name() != *name)
}

/// A path or glob that stays below where it starts, without a leading `./`.
pub fn plain(glob: &str) -> Result<&str, Unable> {
    let plain = glob.trim_start_matches("./").trim_end_matches('/');
    if plain.starts_with('/') || plain.split('/').any(|part| part == "..") {
        return Err(Unable::logical(format!("`{glob}` leaves the workspace")));
    }
    Ok(plain)
}

/// The glob that a template gives: its values mean themselves, whatever characters they have.
pub fn glob(template: &Template, scope: &dyn Scope) -> Result<String, EvalError> {
    template.render_quoted(scope, |value| literal(&value))
}

/// Stands for a value that is not known. No path has it.
const UNKNOWN: &str = "\0";

/// As [`glob`], as far as the values are known; what is not known could be any name, or any path where
/// nothing stands beside it. `None` if it says nothing besides.
pub fn glob_so_far(template: &Template, scope: &dyn Scope) -> Option<String> {
    let glob = template.render_known(scope, |value| literal(&value), UNKNOWN)?;
    let parts = glob.split('/').map(|part| match part {
        UNKNOWN => "**".to_owned(),
        part => part.replace(UNKNOWN, "*"),
    });
    Some(parts.collect::<Vec<_>>().join("/"))
}

/// Globs as they mean files of the workspace; those that cannot be read mean none.
pub(super) fn globs<'a>(globs: impl Iterator<Item = &'a str>) -> Vec<GlobSet> {
    let plain = globs.filter_map(|glob| plain(glob).ok());
    plain.filter_map(|glob| compile(glob).ok()).collect()
}

/// A glob that means this text alone.
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

/// The folders that a glob names before its first special character: where to begin looking.
fn literal_part(glob: &str) -> &str {
    match glob.find(['*', '?', '[', '{', '\\']) {
        None => glob,
        Some(special) => {
            let before = glob.get(..special).unwrap_or_default();
            before.rsplit_once('/').map_or("", |(folder, _)| folder)
        }
    }
}

/// A glob, which also means all that is below what it matches.
pub(super) fn compile(glob: &str) -> Result<GlobSet, Unable> {
    let unable = |error: globset::Error| Unable::logical(format!("bad glob: {error}"));
    let below = if glob.is_empty() {
        "**".into()
    } else {
        format!("{glob}/**")
    };
    let mut set = GlobSetBuilder::new();
    for text in [glob, &below] {
        set.add(
            GlobBuilder::new(text)
                .literal_separator(true)
                .build()
                .map_err(unable)?,
        );
    }
    set.build().map_err(unable)
}

/// Refuses a path that links lead out of the workspace.
pub(super) fn inside(root: &Path, path: &Path) -> Result<(), Unable> {
    let below = path.strip_prefix(root).unwrap_or(path);
    let found = Beneath::open(root).and_then(|root| root.find(below));
    found.map(drop).map_err(|missed| missed.unable(below))
}

#[cfg(test)]
mod tests;
