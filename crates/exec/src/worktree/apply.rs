//! The application of a merge to the workspace: all of its files, or none if one is in the way.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::File,
    io::{self, Read as _, Write as _},
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags},
    io::Errno,
};

use wf_base::failpoint;
use wf_core::machine::{MergeOutcome, MergePlan};

use super::{
    change::{FileChange, FileKind, FileVersion},
    folder::{find_other_file, folders_of, parent, parent_name, remove_emptied, remove_folders},
    git::WorktreeGit,
    tree::unable,
};
use crate::work_error::WorkError;

/// A file as it lies there: its kind and its content; `None`: there is none.
type FoundFile = Option<(FileKind, Vec<u8>)>;

/// A file to be replaced.
struct FileUpdate {
    path: String,
    before: FoundFile,
    after: FoundFile,
}

impl WorktreeGit {
    /// Writes the files of a merge, or those left of one that was cut off. Writes nothing more once a file is neither
    /// as before the merge nor as after it.
    pub async fn apply(&self, plan: &MergePlan) -> Result<MergeOutcome, WorkError> {
        let changes = self.changes(&plan.before, &plan.after).await?;
        let objects = self.objects(&changes).await?;
        let content = |version: Option<FileVersion>| {
            version.map(|version| (version.kind, objects.get(&version.object).cloned().unwrap_or_default()))
        };
        let updates = changes.into_iter().map(|change| FileUpdate {
            path: change.path,
            before: content(change.before),
            after: content(change.after),
        });
        let (updates, root): (Vec<FileUpdate>, PathBuf) = (updates.collect(), self.root.clone());
        let written = tokio::task::spawn_blocking(move || write_all(&root, &updates)).await;
        written.unwrap_or_else(|_| Err(WorkError::environmental("cannot write the files of the merge")))
    }

    /// Returns the contents named by changes.
    async fn objects(&self, changes: &[FileChange]) -> Result<BTreeMap<String, Vec<u8>>, WorkError> {
        let versions = changes.iter().flat_map(|change| change.before.iter().chain(&change.after));
        let names: Vec<&str> = versions.map(|version| version.object.as_str()).collect();
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let input: String = names.iter().map(|name| format!("{name}\n")).collect();
        let answer = self.run_git(&["cat-file", "--batch"], None, Some(input)).await?;
        let unknown = || WorkError::environmental("git does not know a version of a file of the merge");
        let (mut objects, mut rest) = (BTreeMap::new(), answer.out.as_slice());
        for name in names {
            let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(unknown)?;
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            let size: usize =
                head.rsplit(' ').next().and_then(|size| size.parse().ok()).ok_or_else(unknown)?;
            let content = rest.get(end + 1..end + 1 + size).ok_or_else(unknown)?;
            objects.insert(name.to_owned(), content.to_vec());
            rest = rest.get(end + 2 + size..).unwrap_or_default();
        }
        Ok(objects)
    }
}

fn write_all(root: &Path, updates: &[FileUpdate]) -> Result<MergeOutcome, WorkError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top =
        rustix::fs::open(root, flags, Mode::empty()).map_err(|error| unable("open", root, &error.into()))?;
    let updates_by_path: BTreeMap<&str, &FileUpdate> =
        updates.iter().map(|update| (update.path.as_str(), update)).collect();
    let mut open = Vec::new();
    for update in updates {
        match update.find(&top, &updates_by_path) {
            Ok(present) if present == update.after => {}
            Ok(present) if present == update.before => open.push(update),
            Ok(_) => return Ok(MergeOutcome::Outdated),
            // Somebody put something else there, or in place of a folder above it.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(MergeOutcome::Outdated),
            Err(error) => return Err(unable("read", Path::new(&update.path), &error)),
        }
    }
    if let Some(reason) = find_obstacle(&top, &updates_by_path)? {
        return Ok(MergeOutcome::Failed { reason });
    }
    // A file may take the place of a folder whose files go, or a folder that of a file.
    open.sort_by_key(|update| update.after.is_some());
    for update in open {
        let written = update.write(&top).map_err(|error| unable("write", Path::new(&update.path), &error))?;
        if !written {
            return Ok(MergeOutcome::Outdated);
        }
        failpoint::point("merge.file");
    }
    for update in updates.iter().filter(|update| update.after.is_none()) {
        remove_emptied(&top, &update.path);
    }
    Ok(MergeOutcome::Merged)
}

/// Returns the reason why a file of the merge cannot take the place of a folder: something is in it that the merge does
/// not know.
fn find_obstacle(
    top: &OwnedFd,
    updates_by_path: &BTreeMap<&str, &FileUpdate>,
) -> Result<Option<String>, WorkError> {
    let goes = |path: &str| updates_by_path.get(path).is_some_and(|update| update.after.is_none());
    for update in updates_by_path.values().filter(|update| update.after.is_some()) {
        let other = find_other_file(top, &update.path, &goes)
            .map_err(|error| unable("read", Path::new(&update.path), &error))?;
        if let Some(other) = other {
            return Ok(Some(format!(
                "`{}` is to become a file, and is a folder with `{other}`, which the agent did not have: move that \
                 elsewhere, and retry the run",
                update.path
            )));
        }
    }
    Ok(None)
}

impl FileUpdate {
    /// Returns the file as it lies there, or is going to once files of the merge are out of its way. Nothing is found
    /// behind a link.
    fn find(&self, top: &OwnedFd, all: &BTreeMap<&str, &Self>) -> io::Result<FoundFile> {
        match parent(top, &self.path, false) {
            Ok((folder, name)) => found_file(&folder, &name),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR) if folders_of(&self.path).any(|folder| all.contains_key(folder)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Replaces the file; false if it is not as before the merge any more.
    fn write(&self, top: &OwnedFd) -> io::Result<bool> {
        let (folder, name) = parent(top, &self.path, self.after.is_some())?;
        let Some((kind, content)) = &self.after else {
            let is_same = found_file(&folder, &name)? == self.before;
            if is_same && self.before.is_some() {
                rustix::fs::unlinkat(&folder, &*name, AtFlags::empty())?;
            }
            return Ok(is_same);
        };
        let new = format!(".{name}.wf-merge");
        match rustix::fs::unlinkat(&folder, &*new, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        if *kind == FileKind::Link {
            rustix::fs::symlinkat(OsStr::from_bytes(content), &folder, &*new)?;
        } else {
            self.create(&folder, &new, *kind, content)?;
        }
        let is_same = found_file(&folder, &name)? == self.before;
        if is_same {
            remove_folders(&folder, OsStr::new(&name))?;
            rustix::fs::renameat(&folder, &*new, &folder, &*name)?;
        } else {
            rustix::fs::unlinkat(&folder, &*new, AtFlags::empty())?;
        }
        Ok(is_same)
    }

    /// Creates the new file beside the old one, whose permissions it gets as far as they do not change.
    fn create(&self, folder: &OwnedFd, new: &str, kind: FileKind, content: &[u8]) -> io::Result<()> {
        let is_executable = kind == FileKind::Executable;
        let (own, _) = parent_name(&self.path);
        let old = rustix::fs::statat(folder, own, AtFlags::SYMLINK_NOFOLLOW).ok();
        let old = old.filter(|old| FileType::from_raw_mode(old.st_mode) == FileType::RegularFile);
        let mode = match old.map(|old| old.st_mode & 0o777) {
            Some(mode) if (mode & 0o100 != 0) == is_executable => mode,
            _ if is_executable => 0o755,
            _ => 0o644,
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(folder, new, flags, Mode::from_raw_mode(mode))?;
        let mut file = File::from(file);
        file.write_all(content)?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        file.sync_all()
    }
}

fn found_file(folder: &OwnedFd, name: &str) -> io::Result<FoundFile> {
    let stat = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
            Ok(Some((FileKind::Link, target.into_bytes())))
        }
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let mut content = Vec::new();
            File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?).read_to_end(&mut content)?;
            let is_executable = stat.st_mode & 0o100 != 0;
            Ok(Some((if is_executable { FileKind::Executable } else { FileKind::Plain }, content)))
        }
        // What is in it has updates of its own, or is in the way.
        FileType::Directory => Ok(None),
        _ => Err(io::ErrorKind::NotADirectory.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::{FileKind, FileUpdate, FoundFile, MergeOutcome, write_all};

    #[expect(clippy::unnecessary_wraps, reason = "a file is described as it is found")]
    fn plain(text: &str) -> FoundFile {
        Some((FileKind::Plain, text.as_bytes().to_vec()))
    }

    fn update(path: &str, before: FoundFile, after: FoundFile) -> FileUpdate {
        FileUpdate { path: path.into(), before, after }
    }

    /// A folder becomes a file, a file a folder, and a folder is moved.
    fn exchange() -> Vec<FileUpdate> {
        vec![
            update("dir", None, plain("a file")),
            update("dir/sub/x", plain("x"), None),
            update("dir/y", plain("y"), None),
            update("file", plain("f"), None),
            update("file/z", None, plain("z")),
            update("new/deep/n", None, plain("n")),
            update("old/deep/n", plain("n"), None),
        ]
    }

    fn workspace() -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        for folder in ["dir/sub", "dir/empty", "old/deep"] {
            fs::create_dir_all(top.path().join(folder)).unwrap();
        }
        for (path, text) in [("dir/sub/x", "x"), ("dir/y", "y"), ("file", "f"), ("old/deep/n", "n")] {
            fs::write(top.path().join(path), text).unwrap();
        }
        top
    }

    fn read(top: &Path, path: &str) -> String {
        fs::read_to_string(top.join(path)).unwrap_or_default()
    }

    #[test]
    fn an_exchange_of_files_and_folders_that_was_cut_off_is_finished() {
        let all = exchange();
        for done in 0..=all.len() {
            let top = workspace();
            let mut first = exchange();
            first.sort_by_key(|update| update.after.is_some());
            first.truncate(done);
            assert_eq!(write_all(top.path(), &first).unwrap(), MergeOutcome::Merged);
            assert_eq!(write_all(top.path(), &all).unwrap(), MergeOutcome::Merged, "after {done}");
            let found = ["dir", "file/z", "new/deep/n"].map(|path| read(top.path(), path));
            assert_eq!(found, ["a file", "z", "n"], "after {done}");
            assert!(!top.path().join("old").exists(), "after {done}");
        }
    }

    #[test]
    fn what_somebody_changed_or_put_there_stays() {
        let top = workspace();
        fs::write(top.path().join("dir/empty/mine"), "mine").unwrap();
        let outcome = write_all(top.path(), &exchange()).unwrap();
        assert!(
            matches!(&outcome, MergeOutcome::Failed { reason } if reason.contains("`dir/empty/mine`")),
            "{outcome:?}"
        );
        fs::remove_file(top.path().join("dir/empty/mine")).unwrap();
        fs::write(top.path().join("dir/y"), "changed").unwrap();
        assert_eq!(write_all(top.path(), &exchange()).unwrap(), MergeOutcome::Outdated);
        assert_eq!(["dir/sub/x", "dir/y", "file"].map(|path| read(top.path(), path)), ["x", "changed", "f"]);
    }
}
