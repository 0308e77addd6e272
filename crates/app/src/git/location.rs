use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _},
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use super::GitError;

/// The folder of a repository in its work tree, or the file naming it.
const ENTRY: &str = ".git";

/// The file every folder of a repository has.
const HEAD: &str = "HEAD";

/// The folder of objects.
const OBJECTS: &str = "objects";

/// The largest file of a repository that is read to find its folders, in bytes.
const MAX_POINTER_BYTES: u64 = 64 * 1024;

/// The folders of a repository, without links, found without git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitLocation {
    /// The top level of the work tree.
    pub top: PathBuf,
    /// The folder of this work tree's state.
    pub dir: PathBuf,
    /// The common folder of all work trees of the repository: branches and objects.
    pub common: PathBuf,
    /// The folders of objects: its own, and those it borrows from.
    pub objects: BTreeSet<PathBuf>,
}

impl GitLocation {
    /// Finds the repository a folder is in, as git does; `None`: it is in none.
    pub fn find(folder: &Path) -> Result<Option<Self>, GitError> {
        let folder = folder.canonicalize().map_err(unreadable(folder))?;
        let start = fs::metadata(&folder).map_err(unreadable(&folder))?;
        for top in folder.ancestors() {
            // A repository does not reach across file systems.
            if fs::metadata(top).map_err(unreadable(top))?.dev() != start.dev() {
                return Ok(None);
            }
            if let Some(location) = Self::at(top)? {
                location.require_trusted_owner(start.uid())?;
                return Ok(Some(location));
            }
        }
        Ok(None)
    }

    /// Finds the repository whose top level is a folder without links.
    pub fn at(top: &Path) -> Result<Option<Self>, GitError> {
        let entry = top.join(ENTRY);
        match fs::metadata(&entry) {
            // A folder of that name alone makes no repository.
            Ok(metadata) if metadata.is_dir() && fs::symlink_metadata(entry.join(HEAD)).is_err() => Ok(None),
            Ok(metadata) if metadata.is_dir() => Self::of_dir(top, &entry).map(Some),
            Ok(metadata) if metadata.is_file() => Self::of_dir(top, &top.join(pointer(&entry)?)).map(Some),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(&entry)(error)),
        }
    }

    /// Returns the folders of a repository without a work tree.
    pub fn bare(dir: &Path) -> Result<Self, GitError> {
        Self::of_dir(dir, dir)
    }

    /// Returns all of them, and the entry in the work tree with their names.
    pub fn folders(&self) -> Vec<PathBuf> {
        let own = [self.top.join(ENTRY), self.dir.clone(), self.common.clone()];
        own.into_iter().chain(self.objects.iter().cloned()).collect()
    }

    fn of_dir(top: &Path, dir: &Path) -> Result<Self, GitError> {
        let dir = dir.canonicalize().map_err(unreadable(dir))?;
        let common = match read_small(&dir.join("commondir")) {
            Ok(text) => dir.join(path_of(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => dir.clone(),
            Err(error) => return Err(unreadable(&dir)(error)),
        };
        let common = common.canonicalize().map_err(unreadable(&common))?;
        // A file of the work tree must not have any other folder shown to git in its sandbox.
        for needed in [dir.join(HEAD), common.join(OBJECTS)] {
            fs::symlink_metadata(&needed).map_err(unreadable(&needed))?;
        }
        let mut objects = BTreeSet::new();
        add_objects(&common.join(OBJECTS), &mut objects);
        Ok(Self { top: top.to_path_buf(), dir, common, objects })
    }

    /// Refuses a repository, possibly planted by a third user, in a folder above a workspace: what it
    /// tracks decides what an approval covers.
    fn require_trusted_owner(&self, owner: u32) -> Result<(), GitError> {
        let own_uid = rustix::process::geteuid().as_raw();
        for place in [&self.top, &self.top.join(ENTRY), &self.dir, &self.common] {
            let uid = fs::symlink_metadata(place).map_err(unreadable(place))?.uid();
            if ![own_uid, owner, 0].contains(&uid) {
                return Err(GitError::Foreign(place.clone()));
            }
        }
        Ok(())
    }
}

/// Returns the path of a folder from the top of the repository that it is in; empty: it is the top, or in none.
pub fn place_in_repository(folder: &Path) -> PathBuf {
    let git_location = GitLocation::find(folder).ok().flatten();
    let below = git_location.and_then(|location| {
        Some(folder.canonicalize().ok()?.strip_prefix(&location.top).ok()?.to_path_buf())
    });
    below.unwrap_or_default()
}

/// Adds a folder of objects, and those it borrows from. Only folders in the form of such: a line in a
/// file of the repository must not have any other folder shown to git in its sandbox.
fn add_objects(folder: &Path, objects: &mut BTreeSet<PathBuf>) {
    let Ok(folder) = folder.canonicalize() else {
        return;
    };
    let looks_like_objects = folder.file_name() == Some(OsStr::new(OBJECTS))
        && ["info", "pack"].iter().all(|part| folder.join(part).is_dir());
    if !looks_like_objects || !objects.insert(folder.clone()) {
        return;
    }
    let alternates = read_small(&folder.join("info/alternates")).unwrap_or_default();
    let others = alternates.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#');
    for other in others {
        add_objects(&folder.join(OsStr::from_bytes(other)), objects);
    }
}

/// Returns the folder a file `.git` names, as linked work trees and submodules have it.
fn pointer(file: &Path) -> Result<PathBuf, GitError> {
    let text = read_small(file).map_err(unreadable(file))?;
    let path = text.strip_prefix(b"gitdir: ");
    let path = path.ok_or_else(|| unreadable(file)(io::Error::other("it names no repository")))?;
    Ok(path_of(path))
}

fn path_of(text: &[u8]) -> PathBuf {
    OsStr::from_bytes(text.trim_ascii_end()).into()
}

/// Reads a small file; a larger one is cut off.
fn read_small(file: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(file)?.take(MAX_POINTER_BYTES).read_to_end(&mut text)?;
    Ok(text)
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> GitError + '_ {
    move |error| GitError::Unreadable { path: path.to_path_buf(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{lchown, symlink},
        path::{Path, PathBuf},
        process::Command,
    };

    use super::{GitError, GitLocation};

    /// The lines a script prints in a folder.
    fn lines(dir: &Path, script: &str) -> Vec<PathBuf> {
        #[expect(clippy::disallowed_methods, reason = "a test starts real programs")]
        let mut shell = Command::new("sh");
        shell.args(["-ec", script]).current_dir(dir).env_clear().env("HOME", dir);
        let output = shell.env("PATH", "/usr/local/bin:/usr/bin:/bin").output().unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8(output.stdout).unwrap().lines().map(PathBuf::from).collect()
    }

    /// A folder with repositories of every kind.
    fn places() -> (tempfile::TempDir, PathBuf) {
        let base = tempfile::tempdir().unwrap();
        let at = base.path().canonicalize().unwrap();
        let script = "git init -q -b main plain; cd plain; git config user.name it; git config user.email it@localhost
            git config protocol.file.allow always; mkdir -p a/b fake/.git; git commit -q --allow-empty -m one; git worktree add -q ../linked
            cd ..; git clone -q --shared plain borrows; git clone -q --separate-git-dir=apart.git plain apart
            git -c protocol.file.allow=always -C plain submodule --quiet add -q ../borrows module; mkdir plain/module/deep
            git init -q around; mkdir none";
        lines(&at, script);
        symlink(at.join("plain/.git"), at.join("none/.git")).unwrap();
        (base, at)
    }

    #[test]
    fn the_folders_are_those_that_git_finds() {
        let (_base, at) = places();
        let command = "git rev-parse --path-format=absolute --show-toplevel --git-dir --git-common-dir";
        for place in [
            "plain",
            "plain/a/b",
            "plain/fake",
            "linked",
            "borrows",
            "apart",
            "plain/module",
            "plain/module/deep",
            "none",
        ] {
            let folder = at.join(place);
            let location = GitLocation::find(&folder).unwrap().unwrap();
            let paths: Vec<PathBuf> =
                lines(&folder, command).iter().map(|path| path.canonicalize().unwrap()).collect();
            assert_eq!([location.top, location.dir, location.common], *paths, "{place}");
        }
        let borrowed = GitLocation::find(&at.join("borrows")).unwrap().unwrap().objects;
        let both = [at.join("borrows/.git/objects"), at.join("plain/.git/objects")];
        assert_eq!(borrowed, both.into());
        assert_eq!(GitLocation::find(&at), Ok(None));
    }

    #[test]
    fn no_file_of_a_work_tree_has_another_folder_shown() {
        let (_base, at) = places();
        let private = at.join("private");
        fs::create_dir_all(private.join("pack")).unwrap();
        fs::write(at.join("borrows/.git/objects/info/alternates"), format!("{}\n", private.display()))
            .unwrap();
        let location = GitLocation::find(&at.join("borrows")).unwrap().unwrap();
        assert_eq!(location.objects, [at.join("borrows/.git/objects")].into());
        for (file, text) in [
            ("linked/.git", format!("gitdir: {}\n", private.display())),
            ("linked/.git", "anything".to_owned()),
            ("borrows/.git/commondir", private.display().to_string()),
        ] {
            fs::write(at.join(file), text).unwrap();
            let folder = at.join(file.split('/').next().unwrap());
            let refused = GitLocation::find(&folder);
            assert!(matches!(refused, Err(GitError::Unreadable { .. })), "{file}: {refused:?}");
        }
    }

    #[test]
    fn a_third_user_plants_no_repository_above_a_workspace() {
        let (_base, at) = places();
        let folder = at.join("around/workspace");
        fs::create_dir(&folder).unwrap();
        let give = |path: &str, user: u32| {
            let changed = lchown(at.join(path), Some(user), None);
            changed.expect("files are given away: this test needs root");
        };
        assert!(GitLocation::find(&folder).unwrap().is_some());
        give("around/.git", 12_345);
        let refused = GitLocation::find(&folder);
        assert!(matches!(refused, Err(GitError::Foreign(_))), "{refused:?}");
        give("around/workspace", 12_345);
        assert!(GitLocation::find(&folder).unwrap().is_some());
    }
}
