//! Git repositories below a workspace, as git finds them: by the names in a folder.
//!
//! Git starts the programs named by the settings and the hooks of a repository as soon as it is called in that folder,
//! which the prompt of a shell does by itself. So whoever can create a repository can have a program started, outside
//! of any sandbox, by a person who looks at it.
//!
//! ```text
//! before an attempt   RepositoryGuard::record ──▶ walk     those that are there: shown read-only
//! after it            RepositoryGuard::violation ─▶ walk   others are put aside, and the attempt fails
//! a tool of an agent  made_by                              no file is written that makes one
//! ```

use std::{
    ffi::OsStr,
    fs,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags},
    io::Errno,
};

use crate::{disk::files::FileIdentity, work_error::WorkError};

/// The repositories in folders an attempt may write, as they were when it began.
#[derive(Debug)]
pub(crate) struct RepositoryGuard {
    root: PathBuf,
    /// The folders it may write, relative to the root; none inside another.
    folders: Vec<PathBuf>,
    /// The folders no attempt sees.
    excluded: Vec<PathBuf>,
    /// The paths permitting a repository by its exact name.
    named: Vec<PathBuf>,
    before: Repositories,
}

impl RepositoryGuard {
    /// Finds the repositories of a root that exist in these folders. `hidden` folders, absolute, are not looked at.
    pub(crate) fn record(root: &Path, folders: &[PathBuf], named: Vec<PathBuf>, hidden: &[PathBuf]) -> Self {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let (shown, root) = (root, real(root));
        let below = |path: &PathBuf| {
            // A folder that does not exist yet is below the root by its name.
            let below = path.strip_prefix(shown).map(|below| root.join(below));
            let path = real(&below.unwrap_or_else(|_| path.clone()));
            Some(path.strip_prefix(&root).ok()?.to_path_buf())
        };
        let excluded: Vec<PathBuf> = hidden.iter().filter_map(below).collect();
        let is_inner = |folder: &&PathBuf| {
            let is_around = |other: &PathBuf| other != *folder && folder.starts_with(other);
            // What is in a repository that is named is for git.
            !folders.iter().any(is_around) && folder.iter().all(|part| part != GIT)
        };
        let mut folders: Vec<PathBuf> = folders.iter().filter(is_inner).cloned().collect();
        folders.sort();
        folders.dedup();
        let walk = RepositoryWalk { root: &root, excluded: &excluded, enters: &|_| false };
        let before = walk.find(&folders);
        Self { root, folders, excluded, named, before }
    }

    /// Returns those that exist and are not named: they are to be read-only.
    pub(crate) fn unnamed(&self) -> Result<Vec<String>, WorkError> {
        let unnamed = self.before.repositories.iter().map(FoundRepository::control);
        let unnamed = unnamed.filter(|control| !control.as_os_str().is_empty() && !self.is_named(control));
        let text = |path: PathBuf| {
            path.into_os_string().into_string().map_err(|path| {
                WorkError::logical(format!(
                    "the path of the repository `{}` is not UTF-8, so it cannot be protected from a step that may \
                     write there: rename it",
                    path.display()
                ))
            })
        };
        unnamed.map(text).collect()
    }

    /// Returns the reason why the work does not count, if there are others now. They are put aside.
    pub(crate) fn violation(&self) -> Option<String> {
        let is_new = |found: &FoundRepository| {
            let is_same = |other_repository: &FoundRepository| {
                other_repository.is_bare == found.is_bare
                    && (other_repository.folder == found.folder
                        || other_repository.identity == found.identity)
            };
            !self.before.repositories.iter().any(is_same) && !self.is_named(&found.mark())
        };
        let walk = RepositoryWalk { root: &self.root, excluded: &self.excluded, enters: &is_new };
        let after = walk.find(&self.folders);
        let new_repositories: Vec<&FoundRepository> =
            after.repositories.iter().filter(|found| is_new(found)).collect();
        // One inside of another has a path only until that is moved.
        let moved: Vec<Option<PathBuf>> =
            new_repositories.iter().rev().map(|found| put_aside(&self.root, &found.mark())).collect();
        if let (Some(found), Some(aside)) = (new_repositories.first(), moved.last()) {
            let is_inner = |one: &FoundRepository| new_repositories.iter().any(|other| other.contains(one));
            let more = new_repositories.iter().filter(|one| !is_inner(one)).count() - 1;
            return Some(told(found, aside.as_deref(), more));
        }
        let mut closed = after.closed.iter().filter(|folder| !self.before.closed.contains(folder));
        closed.next().map(|folder| {
            format!(
                "`{}` cannot be listed, so nobody can say whether a git repository was created in it: a step must \
                 leave no such folder where it may write; remove it",
                folder.display()
            )
        })
    }

    /// True if a path is permitted by its exact name, or by that of something in it.
    fn is_named(&self, path: &Path) -> bool {
        self.named.iter().any(|named| named.starts_with(path))
    }
}

/// Returns the message about a repository an attempt created.
fn told(found: &FoundRepository, aside: Option<&Path>, more: usize) -> String {
    let mark = found.mark();
    let mark = mark.display();
    let makes = if found.is_bare {
        format!(", which makes `{}` a git repository", found.folder.display())
    } else {
        String::new()
    };
    let moved = match aside {
        Some(aside) => format!("and was moved to `{}`", aside.display()),
        None => "and could not be moved aside: remove it".to_owned(),
    };
    let more = if more == 0 { String::new() } else { format!(", with {more} more like it") };
    format!(
        "`{mark}` was created{makes}, {moved}{more}: git starts programs that the settings of a repository name; let \
         the step remove it before it ends, or, if it must create it, list `{mark}` in `allow.write`"
    )
}

/// Renames a file or folder below a root to `NAME.refused`, or to one with a number, and returns its new path. No link is
/// followed on the way to it.
pub(crate) fn put_aside(root: &Path, file: &Path) -> Option<PathBuf> {
    let (parent, name) = (file.parent()?, file.file_name()?.to_str()?);
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, flags, Mode::empty()).ok()?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let within = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let folder = rustix::fs::openat2(&root, within, flags, Mode::empty(), resolve).ok()?;
    let mut names = (0..100_u32).map(|number| match number {
        0 => format!("{name}.refused"),
        number => format!("{name}.refused-{number}"),
    });
    let is_free = |name: &String| rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).is_err();
    let aside = names.find(is_free)?;
    let rename = || rustix::fs::renameat(&folder, name, &folder, &aside);
    match rename() {
        // Whoever created the file may have taken the permission away.
        Err(Errno::ACCESS) => {
            let mode = rustix::fs::fstat(&folder).ok()?.st_mode | 0o700;
            rustix::fs::chmodat(&folder, ".", Mode::from_raw_mode(mode), AtFlags::empty()).ok()?;
            rename().ok()?;
        }
        renamed => renamed.ok()?,
    }
    Some(parent.join(aside))
}

/// The repositories in some folders, each before those inside of it.
#[derive(Debug, Default)]
pub(super) struct Repositories {
    pub(super) repositories: Vec<FoundRepository>,
    /// The unlistable folders.
    pub(super) closed: Vec<PathBuf>,
}

/// A walk through the folders below a root.
pub(super) struct RepositoryWalk<'a> {
    pub(super) root: &'a Path,
    /// The folders that are not entered, relative to the root.
    pub(super) excluded: &'a [PathBuf],
    /// True for a repository where others are looked for, too.
    pub(super) enters: &'a dyn Fn(&FoundRepository) -> bool,
}

impl RepositoryWalk<'_> {
    /// Finds the repositories in these folders, relative to the root. No link is followed.
    pub(super) fn find(&self, folders: &[PathBuf]) -> Repositories {
        let mut repositories = Repositories::default();
        let Ok(root) = open_root(self.root) else { return repositories };
        let mut rest: Vec<PathBuf> = folders.to_vec();
        while let Some(folder) = rest.pop() {
            match open_folder(&root, &folder) {
                Ok(open) => self.list(&root, open, folder, &mut repositories, &mut rest),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(_) => repositories.closed.push(folder),
            }
        }
        repositories
    }

    /// Notes the repositories of a folder, and the folders in it that are to be listed.
    fn list(
        &self,
        root: &OwnedFd,
        open: OwnedFd,
        folder: PathBuf,
        repositories: &mut Repositories,
        rest: &mut Vec<PathBuf>,
    ) {
        let Ok(entries) = Dir::new(open) else { return repositories.closed.push(folder) };
        let (mut names, mut inside) = (FolderNames::default(), Vec::new());
        for entry in entries.flatten() {
            let name = entry.file_name().to_bytes();
            names.note_name(name);
            let is_folder = match entry.file_type() {
                FileType::Directory => true,
                FileType::Unknown => identity(root, &folder.join(OsStr::from_bytes(name)))
                    .is_some_and(|(_, kind)| kind == FileType::Directory),
                _ => false,
            };
            if is_folder && name != b"." && name != b".." && name != GIT.as_bytes() {
                inside.push(folder.join(OsStr::from_bytes(name)));
            }
        }
        let mut enters = |is_bare, name| {
            let Some((identity, _)) = identity(root, &folder.join(name)) else { return true };
            let repository = FoundRepository { folder: folder.clone(), is_bare, identity };
            let enters = (self.enters)(&repository);
            repositories.repositories.push(repository);
            enters
        };
        // The workspace itself may look like a repository.
        let enters_bare = !names.is_bare() || enters(true, ".") || folder.as_os_str().is_empty();
        if names.has(GIT) && enters(false, GIT) && enters_bare {
            inside.push(folder.join(GIT));
        }
        if enters_bare {
            rest.extend(inside.into_iter().filter(|folder| !self.excluded.contains(folder)));
        }
    }
}

fn open_root(root: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn open_folder(root: &OwnedFd, folder: &Path) -> Result<OwnedFd, Errno> {
    let path = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(root, path, flags, Mode::empty())
}

/// The file or folder by which git knows that the folder around it has a repository.
pub(super) const GIT: &str = ".git";

/// The file by which git knows a folder that is a repository itself, beside two folders or a link to them.
pub(super) const HEAD: &str = "HEAD";

/// A repository below a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundRepository {
    /// The folder that git is called in, relative to the root.
    pub(super) folder: PathBuf,
    /// True if that folder is the repository itself.
    pub(super) is_bare: bool,
    pub(super) identity: FileIdentity,
}

/// The names in a folder that matter to git, of these.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FolderNames(u8);

const NAMES: [&str; 5] = [GIT, HEAD, "objects", "refs", "commondir"];

impl FoundRepository {
    /// Returns the deciding files: a folder, or a file naming one.
    pub(super) fn control(&self) -> PathBuf {
        if self.is_bare { self.folder.clone() } else { self.folder.join(GIT) }
    }

    /// True if another one is in it.
    pub(super) fn contains(&self, other: &Self) -> bool {
        self != other && other.folder.starts_with(self.control())
    }

    /// Returns the file without which git does not see it.
    pub(super) fn mark(&self) -> PathBuf {
        self.folder.join(if self.is_bare { HEAD } else { GIT })
    }
}

impl FolderNames {
    pub(super) fn note_name(&mut self, name: &[u8]) {
        if let Some(at) = NAMES.iter().position(|mark| mark.as_bytes() == name) {
            self.0 |= 1 << at;
        }
    }

    pub(super) fn has(self, name: &str) -> bool {
        NAMES.iter().position(|mark| *mark == name).is_some_and(|at| self.0 & (1 << at) != 0)
    }

    /// True if the folder is a repository itself.
    pub(super) fn is_bare(self) -> bool {
        self.has(HEAD) && (self.has("commondir") || self.has("objects") && self.has("refs"))
    }

    /// Returns the names of an open folder.
    fn of(folder: &OwnedFd) -> Self {
        let mut names = Self::default();
        for name in NAMES {
            if rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                names.note_name(name.as_bytes());
            }
        }
        names
    }
}

/// Returns the folder that is a repository, or becomes one, if a file is written; `open` opens an existing folder.
pub(crate) fn made_by<'a>(file: &'a Path, open: &dyn Fn(&Path) -> Option<OwnedFd>) -> Option<&'a Path> {
    let mut name: Option<&OsStr> = file.file_name();
    for folder in file.ancestors().skip(1) {
        let mut names = open(folder).map(|folder_file| FolderNames::of(&folder_file)).unwrap_or_default();
        // The workspace itself may look like one.
        let was_bare = names.is_bare() && folder.as_os_str().is_empty();
        names.note_name(name.map(OsStr::as_encoded_bytes).unwrap_or_default());
        if names.is_bare() && !was_bare {
            return Some(folder);
        }
        name = folder.file_name();
    }
    None
}

/// Returns the identity of a path below a folder, and its kind.
pub(super) fn identity(folder: &OwnedFd, name: &Path) -> Option<(FileIdentity, FileType)> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((FileIdentity::from(stat), FileType::from_raw_mode(stat.st_mode)))
}

#[cfg(test)]
mod tests;
