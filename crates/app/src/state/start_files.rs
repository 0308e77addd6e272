//! The files of a start that a page asked for: what the process that starts it reads. They are in the state folder, for its owner
//! alone, and are removed with the value; what a killed server left is removed by the next start.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use crate::{CliExitCode, CommandError};
use wf_base::name::RunId;
use wf_store::create_in;

/// The folder of the files, in the state folder.
const FOLDER: &str = "starts";

/// The folder with the files of one start.
#[derive(Debug)]
pub(crate) struct StartFiles(PathBuf);

impl StartFiles {
    /// Makes the folder for a run. One start is made at a time: what others left is removed.
    pub fn make(state: &Path, run: &RunId) -> Result<Self, CommandError> {
        remove_left(state)?;
        let folder = state.join(FOLDER).join(run.as_str());
        create_in(state.parent().unwrap_or(state), &folder, 0o700).map_err(unwritable)?;
        Ok(Self(folder))
    }

    /// Writes a file, and returns its path.
    pub fn write(&self, name: &str, text: &str) -> Result<String, CommandError> {
        let path = self.0.join(name);
        let written = fs::File::options().write(true).create_new(true).mode(0o600).open(&path);
        written.and_then(|mut file| file.write_all(text.as_bytes())).map_err(unwritable)?;
        Ok(path.display().to_string())
    }
}

impl Drop for StartFiles {
    fn drop(&mut self) {
        // What stays is removed by the next start.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// True if a start is under way, or its server was killed.
pub(crate) fn has_left(state: &Path) -> bool {
    state.join(FOLDER).symlink_metadata().is_ok()
}

/// Removes the files of starts whose server was killed.
pub(crate) fn remove_left(state: &Path) -> Result<(), CommandError> {
    match fs::remove_dir_all(state.join(FOLDER)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable(error)),
        _ => Ok(()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is for `map_err`")]
fn unwritable(error: io::Error) -> CommandError {
    CommandError::new(CliExitCode::State, format!("cannot write the parameters of the run: {error}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::StartFiles;
    use wf_base::name::RunId;

    #[test]
    fn the_files_of_a_start_do_not_outlive_it() {
        let state = tempfile::tempdir().unwrap();
        let killed = StartFiles::make(state.path(), &RunId::from_bytes([1; 16])).unwrap();
        let left = killed.write("params.json", "{}").unwrap();
        std::mem::forget(killed);
        let files = StartFiles::make(state.path(), &RunId::from_bytes([2; 16])).unwrap();
        assert!(!std::path::Path::new(&left).exists(), "the next start removes what a killed server left");
        let path = files.write("params.json", "{\"a\":1}").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"a\":1}");
        drop(files);
        assert!(!std::path::Path::new(&path).exists());
    }
}
