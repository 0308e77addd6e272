use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Take};
use std::path::{Path, PathBuf};

use super::log::{FOLDER, LOG};
use wf_store::own_file;

/// Returns the path of the log of a state folder.
pub fn path(state: &Path) -> PathBuf {
    state.join(FOLDER).join(LOG)
}

/// The lines of a log as of one instant, while others may add to it.
#[derive(Debug)]
pub struct AuditLogLines {
    text: BufReader<Take<File>>,
    /// True if the last line is incomplete: a process died, or the disk was full, while it was
    /// written. It is not returned.
    pub torn: bool,
}

impl AuditLogLines {
    /// Opens a log; `None` if there is none. `from` is the offset of the first line to read, in
    /// bytes.
    pub fn open(path: &Path, from: u64) -> io::Result<Option<Self>> {
        use std::io::Seek;
        own_file(path)?;
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        // Writers hold the lock: the log is complete once it is ours.
        file.lock_shared()?;
        let length = file.metadata()?.len();
        file.unlock()?;
        file.seek(io::SeekFrom::Start(from))?;
        Ok(Some(Self { text: BufReader::new(file.take(length.saturating_sub(from))), torn: false }))
    }

    /// Returns the next line, without its end. Bytes that are not UTF-8 are replaced.
    pub fn next_line(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        if self.text.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.pop() != Some(b'\n') {
            self.torn = true;
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&line).into_owned()))
    }
}
