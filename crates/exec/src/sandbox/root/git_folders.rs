//! Folders of git outside of the workspace appearing as they were when the run began.
//!
//! ```text
//! HEAD, index, packed-refs …           the files that were kept
//! objects                              the present ones: their names are the digests of their content
//! config, hooks, info, commondir …     the present ones
//! logs, locks, heads of other commands the kept ones, or none
//! ```
//!
//! The folder that appears is a new one in memory. A mount over a file of the real one would not hold: git replaces its files
//! by renaming others, which moves such a mount away.

use std::{
    fs::{self, File},
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use super::{
    mount::{MountAccess, bind, by_descriptor, new, open_without_links, remount, tmpfs},
    mounts::{SandboxViewBuilder, view_error},
};
use crate::{
    originals::GitPart,
    sandbox::{error::SandboxError, spec::KeptGitFolder},
};

/// The largest copied file, in bytes; a larger one is mounted.
const MAX_COPIED_BYTES: u64 = 1 << 20;

/// The folder of objects.
const OBJECTS: &str = "objects";

/// The operation, in errors.
const SHOW: &str = "show git as it was when the run began";

impl SandboxViewBuilder<'_> {
    /// Shows the kept folders of git. One no longer there is left out.
    pub(super) fn show_git_folders(&self) -> Result<(), SandboxError> {
        let mut folders: Vec<&KeptGitFolder> = self.sandbox.git_folders.iter().collect();
        // That of a linked work tree is in the common one.
        folders.sort_by_key(|git_folder| git_folder.folder.components().count());
        let mut places = Vec::new();
        for git_folder in folders {
            let Ok((present, place)) = self.find(&git_folder.folder) else { continue };
            let (copy, _) = self.find(&git_folder.copy).map_err(view_error(SHOW))?;
            fs::create_dir_all(new(&place))
                .and_then(|()| tmpfs(&new(&place), "mode=755,size=64m"))
                .map_err(view_error(SHOW))?;
            show_present(&present, &place)?;
            restore(&by_descriptor(&copy), &new(&place)).map_err(view_error(SHOW))?;
            places.push(place);
        }
        let locked = places.iter().try_for_each(|place| remount(&new(place), MountAccess::Read, true));
        locked.map_err(view_error(SHOW))
    }
}

/// Shows the objects and the settings of a folder of git as they are.
fn show_present(present: &OwnedFd, place: &Path) -> Result<(), SandboxError> {
    let entries = fs::read_dir(by_descriptor(present)).map_err(view_error(SHOW))?;
    for entry in entries {
        let entry = entry.map_err(view_error(SHOW))?;
        let name = PathBuf::from(entry.file_name());
        let part = GitPart::from_path(&Path::new(".git").join(&name));
        if part != Some(GitPart::Setting) && name != Path::new(OBJECTS) {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            let linked = fs::read_link(by_descriptor(present).join(&name))
                .and_then(|to| std::os::unix::fs::symlink(to, new(place).join(&name)));
            linked.map_err(view_error(SHOW))?;
        } else if let Ok(source) = open_without_links(present, &name) {
            bind(&source, &place.join(&name), MountAccess::Read)?;
        }
    }
    Ok(())
}

/// Puts the kept files into a folder. Files another check just writes anew are passed over.
fn restore(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let done = if entry.file_type()?.is_dir() {
            fs::create_dir_all(&to).and_then(|()| restore(&from, &to))
        } else {
            restore_file(&from, &to)
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => done?,
        }
    }
    Ok(())
}

fn restore_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let stat = source.metadata()?;
    let mut file = File::create_new(to)?;
    if stat.len() > MAX_COPIED_BYTES {
        return rustix::mount::mount_bind(from, to).map_err(io::Error::from);
    }
    io::copy(&mut source, &mut file)?;
    file.set_modified(stat.modified()?)
}

/// The files git reads below the home folder. Those shown are the user's own.
const FILES: [&str; 2] = [".gitconfig", ".config/git/config"];

impl SandboxViewBuilder<'_> {
    /// Writes the trust in repositories of other users into the home folder, where it is an empty one.
    pub(super) fn write_git_settings(&self, home: &Path) -> Result<(), SandboxError> {
        if self.sandbox.trusted.is_empty() {
            return Ok(());
        }
        let files = FILES.map(|file| new(&home.join(file)));
        let Some(file) = files.iter().find(|file| fs::symlink_metadata(file).is_err()) else { return Ok(()) };
        let lines = self.sandbox.trusted.iter().map(|value| format!("\tdirectory = {}\n", quoted(value)));
        let text: String = std::iter::once("[safe]\n".to_owned()).chain(lines).collect();
        let write = || -> io::Result<()> {
            file.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(file, &text)
        };
        write().map_err(view_error("say which repositories are trusted"))
    }
}

/// Returns a value as git's settings have it.
fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_value_stays_one_value() {
        assert_eq!(quoted("/a b;#\"\\c\n"), r#""/a b;#\"\\c\n""#);
    }
}
