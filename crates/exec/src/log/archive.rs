//! The logs of a run that has ended, in one file: an archive in the format of tar, so that they can be read without this
//! program. A run of three steps has one file then instead of six, and one of 20,000 items one instead of 40,000.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{file::LogFile, target};

/// The file in the folder of a run.
pub const ARCHIVE: &str = "logs.tar";

/// An archive of logs, and the place of each in it.
#[derive(Debug)]
pub(super) struct LogArchive {
    file: Arc<File>,
    /// The offset and the length of a file, by its name.
    members: HashMap<OsString, (u64, u64)>,
}

impl LogArchive {
    /// Opens the archive in the folder of a run; `None` if there is none.
    pub(super) fn open(folder: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(folder.join(ARCHIVE)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut members = HashMap::new();
        for entry in tar::Archive::new(&file).entries_with_seek()? {
            let entry = entry?;
            members.insert(entry.path()?.as_os_str().to_owned(), (entry.raw_file_position(), entry.size()));
        }
        Ok(Some(Self { file: Arc::new(file), members }))
    }

    /// Returns a file of the archive, by the path that it had before.
    pub(super) fn member(&self, path: &Path) -> Option<LogFile> {
        let (start, length) = self.members.get(path.file_name()?)?;
        Some(LogFile::within(Arc::clone(&self.file), *start, *length))
    }
}

/// Moves the logs of a run that has ended into an archive. They can be read all the time, also if the process dies in
/// between: what it leaves stays as it is. A log whose writer died while it was long stays a file of its own.
pub fn archive(folder: &Path) -> io::Result<()> {
    let logs = whole_logs(folder)?;
    if logs.is_empty() || folder.join(ARCHIVE).exists() {
        return Ok(());
    }
    let part = tempfile::NamedTempFile::new_in(folder)?;
    let mut builder = tar::Builder::new(io::BufWriter::new(part.as_file()));
    builder.mode(tar::HeaderMode::Deterministic);
    for path in logs.iter().flat_map(|log| [log.clone(), target::index(log)]) {
        builder.append_path_with_name(&path, path.file_name().unwrap_or_default())?;
    }
    builder.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    part.as_file().sync_all()?;
    part.persist(folder.join(ARCHIVE))?;
    // A log is removed before its index: what has no index is read from the archive.
    for log in logs {
        fs::remove_file(&log)?;
        fs::remove_file(target::index(&log))?;
    }
    Ok(())
}

/// Returns the logs that are complete, in the order of their names.
fn whole_logs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        let is_whole =
            || target::index(&path).exists() && !target::end_paths(&path).iter().any(|end| end.exists());
        if is_log && !target::is_end(&path) && is_whole() {
            logs.push(path);
        }
    }
    logs.sort();
    Ok(logs)
}
