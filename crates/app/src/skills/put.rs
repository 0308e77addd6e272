//! Changes of the folder of a skill: it is written in full beside, and replaced atomically.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::{Caller, CliExitCode, CommandError, Workspace};
use wf_base::failpoint;
use wf_skill::SkillBundle;

/// The folder of skills in a workspace.
pub const SKILLS: &str = "skills";

/// The lock on the skills of a workspace: of two that change them, one waits.
pub struct SkillFolderLock {
    _folder: File,
    dir: PathBuf,
}

/// The files of a skill, written and not yet in their place. They are removed when it is dropped.
pub struct StagedSkill {
    /// The path of the files.
    pub path: PathBuf,
    destination: PathBuf,
    is_placed: bool,
}

fn io_error(what: &str, error: &io::Error) -> CommandError {
    CommandError::new(CliExitCode::State, format!("{what}: {error}"))
}

impl SkillFolderLock {
    /// Waits until no other process changes skills here, and reports that.
    pub fn acquire(caller: &dyn Caller, workspace: &Workspace) -> Result<Self, CommandError> {
        let dir = workspace.root.join(SKILLS);
        let taken = File::open(&workspace.root).and_then(|folder| {
            match folder.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    caller.info(
                        "another `wf skill` command is changing the skills of this workspace, and may wait for input in its terminal; waiting for it to exit\n",
                    );
                    folder.lock()?;
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
            Ok(folder)
        });
        let folder = taken.map_err(|error| io_error("cannot lock the skills directory", &error))?;
        let is_link = fs::symlink_metadata(&dir).is_ok_and(|data| data.is_symlink());
        if is_link {
            let message = format!("{SKILLS} is a link");
            return Err(
                CommandError::new(CliExitCode::Usage, message).hint("skills must be in the workspace itself")
            );
        }
        Ok(Self { _folder: folder, dir })
    }

    /// Writes the files of a skill beside its place.
    pub fn stage(&self, name: &str, bundle: &SkillBundle) -> Result<StagedSkill, CommandError> {
        let path = self.dir.join(format!(".{name}.new"));
        let staged = StagedSkill { destination: self.dir.join(name), path, is_placed: false };
        let written = fs::create_dir_all(&self.dir)
            .and_then(|()| remove_dir(&staged.path))
            .and_then(|()| write(&staged.path, bundle));
        written.map_err(|error| io_error("cannot write the skill", &error))?;
        failpoint::point("skill.staged");
        Ok(staged)
    }

    pub fn remove(&self, name: &str) -> Result<(), CommandError> {
        let away = self.dir.join(format!(".{name}.new"));
        let removed = remove_dir(&away)
            .and_then(|()| fs::rename(self.dir.join(name), &away))
            .and_then(|()| remove_dir(&away));
        removed.map_err(|error| io_error("cannot remove the skill", &error))
    }
}

impl StagedSkill {
    /// Moves the files into their place, atomically; the earlier ones are removed.
    pub fn install(mut self) -> Result<(), CommandError> {
        let placed = self.swap();
        placed.map_err(|error| io_error("cannot move the skill into place", &error))?;
        failpoint::point("skill.placed");
        Ok(())
    }

    fn swap(&mut self) -> io::Result<()> {
        if fs::symlink_metadata(&self.destination).is_ok() {
            renameat_with(CWD, &self.path, CWD, &self.destination, RenameFlags::EXCHANGE)?;
        } else {
            renameat_with(CWD, &self.path, CWD, &self.destination, RenameFlags::NOREPLACE)?;
            self.is_placed = true;
        }
        sync_dir(self.destination.parent().unwrap_or(Path::new("/")))
    }
}

impl Drop for StagedSkill {
    /// Removes unplaced and replaced files.
    fn drop(&mut self) {
        if !self.is_placed {
            let _ = remove_dir(&self.path);
            // A folder that was created for it is removed, too; a non-empty one stays.
            let _ = self.path.parent().map(fs::remove_dir);
        }
    }
}

fn remove_dir(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn sync_dir(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn write(folder: &Path, bundle: &SkillBundle) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o755).create(folder)?;
    for (path, file) in &bundle.files {
        let to = folder.join(path);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut out = fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&to)?;
        out.write_all(&file.bytes)?;
        let mode = if file.is_executable { 0o755 } else { 0o644 };
        out.set_permissions(fs::Permissions::from_mode(mode))?;
        out.sync_all()?;
    }
    for path in bundle.files.keys() {
        if let Some(parent) = folder.join(path).parent() {
            sync_dir(parent)?;
        }
    }
    sync_dir(folder)
}

/// Writes a file atomically: its name appears only once it is complete.
pub fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    file.as_file().sync_all()?;
    failpoint::point("skill.lock.before");
    file.persist(path).map_err(|error| error.error)?;
    sync_dir(dir)?;
    failpoint::point("skill.lock.after");
    Ok(())
}
