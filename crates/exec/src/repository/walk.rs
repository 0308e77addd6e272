use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::layout::{FolderNames, FoundRepository, GIT, identity};

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
            names.note(name);
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
