//! The tools to write a file: its place is checked, and its content replaced at once.

use std::{
    ffi::{OsStr, OsString},
    fmt::Write as _,
    fs::File,
    io::{self, Write as _},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags},
    io::Errno,
};

use super::{
    answer::quoted,
    error::{FileToolError, is_refusal},
    workspace::{ToolWorkspace, kind_name, split},
};
use crate::{disk::confined_dir::PathLookupError, repository};

/// The folders no tool writes to: the files in them change what git and wf do. Permitted agents can use a script.
const FOLDERS_OF_TOOLS: [&str; 2] = [".git", ".wf"];

/// Creates a file with the folders above it, or replaces its content.
pub(super) fn write(
    workspace: &ToolWorkspace,
    path: &str,
    text: &str,
    writable: Option<&[String]>,
) -> Result<String, FileToolError> {
    let target = WriteTarget::find(workspace, path, writable)?;
    target.replace(text).map_err(|error| FileToolError::unwritten(path, error, writable))?;
    let (done, bytes) = (if target.mode.is_some() { "replaced" } else { "created" }, text.len());
    Ok(format!("{done} {}: {bytes} bytes", quoted(path)))
}

/// The place of a file to be written.
pub(super) struct WriteTarget {
    folder: OwnedFd,
    name: OsString,
    /// The permissions of the present file.
    mode: Option<u32>,
}

impl WriteTarget {
    /// Finds the place of a path, and creates missing folders above it.
    pub(super) fn find(
        workspace: &ToolWorkspace,
        path: &str,
        writable: Option<&[String]>,
    ) -> Result<Self, FileToolError> {
        let relative = workspace.relative(path)?;
        refuse_tools(path, &relative)?;
        let real = match workspace.trace(&relative) {
            Ok((real, FileType::RegularFile)) => real,
            Ok((_, kind)) => {
                let (path, found) = (quoted(path), kind_name(kind));
                return Err(FileToolError::OtherKind { path, found, expected: "a file" });
            }
            Err(PathLookupError::Absent) => place_of_new(workspace, path, &relative, writable)?,
            Err(missed) => return Err(FileToolError::lookup(path, missed)),
        };
        refuse_tools(path, &real)?;
        refuse_repository(workspace, path, &real)?;
        let (parent, name) = split(&real);
        let folder = workspace.folder(parent).map_err(|missed| FileToolError::lookup(path, missed))?;
        let mode = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_file() => Some(stat.st_mode & 0o777),
            _ => None,
        };
        Ok(Self { folder, name: name.to_owned(), mode })
    }

    /// Replaces the content, so a reader sees the old one or the new one.
    pub(super) fn replace(&self, text: &str) -> io::Result<()> {
        match self.replace_by_rename(text) {
            // A file can be writable where its folder is not, and a sandbox shows such a file as a mount, which
            // cannot be renamed: then there is no other way.
            Err(error) if self.mode.is_some() && (is_refusal(&error) || is_mount(&error)) => {
                self.overwrite(text)
            }
            done => done,
        }
    }

    fn replace_by_rename(&self, text: &str) -> io::Result<()> {
        let temporary = temporary_name()?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let new = rustix::fs::openat(&self.folder, &*temporary, flags, Mode::from_raw_mode(0o666))?;
        let written = self
            .fill(new, text)
            .and_then(|()| Ok(rustix::fs::renameat(&self.folder, &*temporary, &self.folder, &self.name)?));
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.folder, &*temporary, AtFlags::empty());
        }
        written
    }

    fn fill(&self, new: OwnedFd, text: &str) -> io::Result<()> {
        if let Some(mode) = self.mode {
            rustix::fs::fchmod(&new, Mode::from_raw_mode(mode))?;
        }
        File::from(new).write_all(text.as_bytes())
    }

    fn overwrite(&self, text: &str) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty())?;
        File::from(file).write_all(text.as_bytes())
    }
}

/// Returns the path without links of a file that does not exist, with its folder created.
fn place_of_new(
    workspace: &ToolWorkspace,
    path: &str,
    wanted_path: &Path,
    writable: Option<&[String]>,
) -> Result<PathBuf, FileToolError> {
    let Some(name) = wanted_path.file_name() else {
        return Err(FileToolError::OtherKind { path: quoted(path), found: "a folder", expected: "a file" });
    };
    let parent = wanted_path.parent().unwrap_or(Path::new(""));
    // A link may lead to a folder in which none may be created.
    for above in parent.ancestors() {
        match workspace.trace(above) {
            Ok((real, _)) => {
                refuse_tools(path, &real)?;
                let below = parent.strip_prefix(above).unwrap_or(parent);
                refuse_repository(workspace, path, &real.join(below).join(name))?;
                break;
            }
            Err(PathLookupError::Absent) => {}
            Err(missed) => return Err(FileToolError::lookup(path, missed)),
        }
    }
    workspace.make_folder(parent).map_err(|missed| match missed {
        PathLookupError::Failed(error) => FileToolError::unwritten(path, error.into(), writable),
        missed => FileToolError::lookup(path, missed),
    })?;
    let (real, _) = workspace.trace(parent).map_err(|missed| FileToolError::lookup(path, missed))?;
    Ok(real.join(name))
}

/// Refuses paths in folders of git and wf.
fn refuse_tools(path: &str, real: &Path) -> Result<(), FileToolError> {
    let is_of_tools = |part: &OsStr| FOLDERS_OF_TOOLS.iter().any(|folder| part == *folder);
    if real.iter().any(is_of_tools) {
        return Err(FileToolError::OfTools { path: quoted(path) });
    }
    Ok(())
}

/// Refuses a file of a folder that is a repository of git, or would become one.
fn refuse_repository(workspace: &ToolWorkspace, path: &str, real: &Path) -> Result<(), FileToolError> {
    match repository::made_by(real, &|folder| workspace.folder(folder).ok()) {
        None => Ok(()),
        Some(folder) => Err(FileToolError::MakesRepository { path: quoted(path), folder: quoted(folder) }),
    }
}

/// True if a file cannot be replaced because it is mounted.
fn is_mount(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::BUSY | Errno::XDEV))
}

/// Returns a name no other file has.
fn temporary_name() -> io::Result<String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let mut name = ".wf-write-".to_owned();
    for byte in bytes {
        let _ = write!(name, "{byte:02x}");
    }
    Ok(name)
}
