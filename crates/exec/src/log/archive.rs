//! The logs of an ended run in one file: an archive in the format of tar, readable without this
//! program. A run of three steps has one file then instead of six, and one of 20,000 items one instead of 40,000.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    file::{LogFile, open_regular},
    target,
};

/// The file in the folder of a run.
const ARCHIVE: &str = "logs.tar";

/// The archive while it is being written.
const PART: &str = "logs.tar.part";

/// The size of a block of an archive, in bytes. Two empty ones are its end.
const BLOCK: u64 = 512;

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
        let Some(file) = open_regular(&folder.join(ARCHIVE))? else {
            return Ok(None);
        };
        let damaged = |_| io::Error::new(io::ErrorKind::InvalidData, format!("{ARCHIVE} is damaged"));
        let (mut members, mut end) = (HashMap::new(), 0);
        for entry in tar::Archive::new(&file).entries_with_seek().map_err(damaged)? {
            let entry = entry.map_err(damaged)?;
            let path = entry.path().map_err(damaged)?.as_os_str().to_owned();
            members.insert(path, (entry.raw_file_position(), entry.size()));
            end = (entry.raw_file_position() + entry.size()).next_multiple_of(BLOCK);
        }
        // The end of a shorter one looks like the end of an archive.
        if file.metadata()?.len() != end + 2 * BLOCK {
            return Err(damaged(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(Some(Self { file: Arc::new(file), members }))
    }

    /// Returns a file of the archive, by its earlier path.
    pub(super) fn member(&self, path: &Path) -> Option<LogFile> {
        let (start, length) = self.members.get(path.file_name()?)?;
        Some(LogFile::within(Arc::clone(&self.file), *start, *length))
    }
}

/// Moves the logs of an ended run into an archive. They can be read all the time, also if the process dies in
/// between: its leftovers stay. A long log stays a file of its own if its writer died.
pub fn archive(folder: &Path) -> io::Result<()> {
    let logs = whole_logs(folder)?;
    let is_there = fs::symlink_metadata(folder.join(ARCHIVE)).is_ok_and(|metadata| metadata.is_file());
    if logs.is_empty() || is_there {
        return Ok(());
    }
    let part = folder.join(PART);
    let result = write_archive(&part, &logs).and_then(|()| fs::rename(&part, folder.join(ARCHIVE)));
    result.inspect_err(|_| drop(fs::remove_file(&part)))?;
    // A log is removed before its index: what has no index is read from the archive.
    for log in logs {
        fs::remove_file(&log)?;
        fs::remove_file(target::index(&log))?;
    }
    Ok(())
}

fn write_archive(path: &Path, logs: &[PathBuf]) -> io::Result<()> {
    let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let mut builder = tar::Builder::new(io::BufWriter::new(file));
    for path in logs.iter().flat_map(|log| [log.clone(), target::index(log)]) {
        let mut file = open_regular(&path)?.ok_or(io::ErrorKind::NotFound)?;
        builder.append_file(path.file_name().unwrap_or_default(), &mut file)?;
    }
    let file = builder.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()
}

/// Returns the complete logs, in the order of their names.
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
