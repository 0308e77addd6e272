use std::{
    fs::{self, File, FileTimes},
    io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use walkdir::WalkDir;

use crate::{CliExitCode, CommandError, Workspace};

/// A copy of a workspace, with a state of its own, until it is dropped.
#[derive(Debug)]
pub struct WorkspaceCopy {
    pub workspace: Workspace,
    _folder: TempDir,
}

impl WorkspaceCopy {
    /// Copies the files of a workspace, without its state, into a folder for temporary files.
    pub fn of(original_workspace: &Workspace) -> Result<Self, CommandError> {
        let failed = |path: &Path, error: &io::Error| {
            let message = format!("cannot copy {}: {error}", path.display());
            CommandError::new(CliExitCode::State, message)
        };
        let folder = tempfile::Builder::new().prefix("wf-replay-").tempdir();
        let folder = folder.map_err(|error| failed(&original_workspace.root, &error))?;
        let root = folder.path().join("workspace");
        let own_state = original_workspace.root.join(".wf");
        let is_wanted = |path: &Path| path != original_workspace.state && path != own_state;
        let entries =
            WalkDir::new(&original_workspace.root).into_iter().filter_entry(|entry| is_wanted(entry.path()));
        for entry in entries {
            let entry = entry.map_err(|error| {
                let path = error.path().unwrap_or(&original_workspace.root).to_owned();
                failed(&path, &error.into())
            })?;
            let to = place(entry.path(), &original_workspace.root, &root);
            copy_entry(&entry, &to).map_err(|error| failed(entry.path(), &error))?;
        }
        let state = root.join(".wf");
        Ok(Self { workspace: Workspace { root, state }, _folder: folder })
    }
}

fn place(path: &Path, from: &Path, to: &Path) -> PathBuf {
    path.strip_prefix(from).map_or_else(|_| to.to_owned(), |rest| to.join(rest))
}

/// Copies a folder without its entries, a link, or a file with its mode and its times. What is neither of these, as
/// a socket, belongs to a program and is left out.
fn copy_entry(entry: &walkdir::DirEntry, to: &Path) -> io::Result<()> {
    let kind = entry.file_type();
    if kind.is_dir() {
        fs::create_dir_all(to)
    } else if kind.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(entry.path())?, to)
    } else if kind.is_file() {
        let before = fs::metadata(entry.path())?;
        fs::copy(entry.path(), to)?;
        // A build tool decides by them.
        let times = FileTimes::new().set_modified(before.modified()?);
        File::open(to)?.set_times(times)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::WorkspaceCopy;
    use crate::Workspace;
    use std::{
        fs,
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    #[test]
    fn files_are_copied_and_the_state_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("ws");
        for folder in ["src", ".wf/runs", "state"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("src/tool"), "echo").unwrap();
        fs::set_permissions(root.join("src/tool"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(root.join(".wf/state.db"), "old").unwrap();
        fs::write(root.join("state/state.db"), "now").unwrap();
        symlink("tool", root.join("src/link")).unwrap();
        let original = Workspace { state: root.join("state"), root };
        let copy = WorkspaceCopy::of(&original).unwrap();
        let (old, new) = (&original.root, copy.workspace.root.clone());
        assert_eq!(fs::read_to_string(new.join("src/link")).unwrap(), "echo");
        assert!(fs::symlink_metadata(new.join("src/link")).unwrap().is_symlink());
        let (old, tool) = (old.join("src/tool"), new.join("src/tool"));
        let (old, tool) = (fs::metadata(old).unwrap(), fs::metadata(tool).unwrap());
        assert_eq!(tool.permissions(), old.permissions());
        assert_eq!(tool.modified().unwrap(), old.modified().unwrap());
        assert!(!new.join(".wf").exists() && !new.join("state").exists());
        drop(copy);
        assert!(!new.exists());
    }
}
