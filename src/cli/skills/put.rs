//! How the folder of a skill changes: it is written whole beside, and takes its place at once.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::cli::{Exit, Failure, Ui, Workspace};
use crate::crash;
use crate::skill::Bundle;

/// The folder of a workspace in which its skills lie.
pub const SKILLS: &str = "skills";

/// Holds the skills of a workspace: of two that change them, one waits.
pub struct Hold {
    _folder: File,
    dir: PathBuf,
}

/// The files of a skill, written and not yet in their place. They go when it is dropped.
pub struct Staged {
    /// Where they are.
    pub path: PathBuf,
    to: PathBuf,
    is_placed: bool,
}

fn failed(what: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::State, format!("{what}: {error}"))
}

impl Hold {
    /// Waits until nobody else changes skills here, and says so.
    pub fn take(ui: &Ui, workspace: &Workspace) -> Result<Self, Failure> {
        let dir = workspace.root.join(SKILLS);
        let taken = File::open(&workspace.root).and_then(|folder| {
            match folder.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    ui.note(
                        "another `wf skill` command changes the skills of this workspace, \
                         perhaps it asks in another terminal; waiting for its end\n",
                    );
                    folder.lock()?;
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
            Ok(folder)
        });
        let folder =
            taken.map_err(|error| failed("the folder of skills cannot be held", &error))?;
        let is_link = fs::symlink_metadata(&dir).is_ok_and(|data| data.is_symlink());
        if is_link {
            let message = format!("{SKILLS} is a link");
            return Err(
                Failure::new(Exit::Usage, message).hint("skills lie in the workspace itself")
            );
        }
        Ok(Self {
            _folder: folder,
            dir,
        })
    }

    /// Writes the files of a skill beside its place.
    pub fn stage(&self, name: &str, bundle: &Bundle) -> Result<Staged, Failure> {
        let path = self.dir.join(format!(".{name}.new"));
        let staged = Staged {
            to: self.dir.join(name),
            path,
            is_placed: false,
        };
        let written = fs::create_dir_all(&self.dir)
            .and_then(|()| gone(&staged.path))
            .and_then(|()| write(&staged.path, bundle));
        written.map_err(|error| failed("the skill cannot be written", &error))?;
        crash::point("skill.staged");
        Ok(staged)
    }

    /// Removes the folder of a skill.
    pub fn remove(&self, name: &str) -> Result<(), Failure> {
        let away = self.dir.join(format!(".{name}.new"));
        let removed = gone(&away)
            .and_then(|()| fs::rename(self.dir.join(name), &away))
            .and_then(|()| gone(&away));
        removed.map_err(|error| failed("the skill cannot be removed", &error))
    }
}

impl Staged {
    /// Puts the files into their place, at once; what was there is gone.
    pub fn place(mut self) -> Result<(), Failure> {
        let placed = self.swap();
        placed.map_err(|error| failed("the skill cannot be put into its place", &error))?;
        crash::point("skill.placed");
        Ok(())
    }

    fn swap(&mut self) -> io::Result<()> {
        if fs::symlink_metadata(&self.to).is_ok() {
            renameat_with(CWD, &self.path, CWD, &self.to, RenameFlags::EXCHANGE)?;
        } else {
            renameat_with(CWD, &self.path, CWD, &self.to, RenameFlags::NOREPLACE)?;
            self.is_placed = true;
        }
        synced(self.to.parent().unwrap_or(Path::new("/")))
    }
}

impl Drop for Staged {
    /// What was not placed, or was there before, is of no use to anybody.
    fn drop(&mut self) {
        if !self.is_placed {
            let _ = gone(&self.path);
            // A folder that was made for it goes, too; one that holds something stays.
            let _ = self.path.parent().map(fs::remove_dir);
        }
    }
}

fn gone(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn synced(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn write(folder: &Path, bundle: &Bundle) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o755).create(folder)?;
    for (path, file) in &bundle.files {
        let to = folder.join(path);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut out = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(&to)?;
        out.write_all(&file.bytes)?;
        let mode = if file.is_executable { 0o755 } else { 0o644 };
        out.set_permissions(fs::Permissions::from_mode(mode))?;
        out.sync_all()?;
    }
    for path in bundle.files.keys() {
        if let Some(parent) = folder.join(path).parent() {
            synced(parent)?;
        }
    }
    synced(folder)
}

/// Writes a file under its name only when it is whole.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file()
        .set_permissions(fs::Permissions::from_mode(0o644))?;
    file.as_file().sync_all()?;
    crash::point("skill.lock.before");
    file.persist(path).map_err(|error| error.error)?;
    synced(dir)?;
    crash::point("skill.lock.after");
    Ok(())
}
