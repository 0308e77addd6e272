use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

use crate::{log::known::AuditCursor, records::words::LogTruncatedBody};
use wf_base::digest::Sha256Digest;
use wf_store::{ProcessIdentity, own_file};

/// The name of the mark beside the log.
const MARK: &str = "log.mark";

/// The length of its first line, with the line end. The second line is the known state of the log.
const LENGTH: usize = 160;

/// The maximum rest of an earlier, longer text behind the second line, in bytes.
const SPARE: u64 = 4096;

/// The mark of the log's last known record. Written after the log and never synced: it may be
/// behind it, and is ahead of it only if the end of the log is gone.
#[derive(Debug, PartialEq)]
pub(crate) struct AuditLogMark {
    /// The number of the last record.
    pub n: u64,
    pub hash: Sha256Digest,
    boot: String,
}

/// Refuses a mark that is not a regular file.
pub(crate) fn check_regular_file(dir: &Path) -> io::Result<()> {
    own_file(&dir.join(MARK))
}

/// Reads the mark; `None` if there is none, or it is unreadable.
pub(crate) fn read(dir: &Path) -> Option<AuditLogMark> {
    let text = std::fs::read_to_string(dir.join(MARK)).ok()?;
    let mut words = text.lines().next()?.split_whitespace();
    Some(AuditLogMark {
        n: words.next()?.parse().ok()?,
        hash: words.next()?.parse().ok()?,
        boot: words.next().unwrap_or_default().into(),
    })
}

/// Reads the known state of the log from the mark; `None` if it belongs to another log.
pub(super) fn read_cursor(dir: &Path, log: &File) -> Option<AuditCursor> {
    let text = std::fs::read_to_string(dir.join(MARK)).ok()?;
    AuditCursor::parse(text.lines().nth(1)?, log)
}

/// Writes the mark and the known state of the log. A mark that cannot be written stays behind,
/// which is harmless.
pub(crate) fn write(dir: &Path, cursor: &AuditCursor, log: &File) {
    let (ledger, boot) = (&cursor.ledger, ProcessIdentity::current().boot);
    let text = format!("{} {} {boot}", ledger.n, ledger.hash);
    let rest = cursor.text(log).unwrap_or_default();
    let text = format!("{text:<0$}\n{rest}\n", LENGTH - 1);
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(dir.join(MARK));
    if let Ok(file) = file {
        let _ = file.write_all_at(text.as_bytes(), 0);
        // The state was larger while many processes worked at once; later readers are spared that.
        let length = text.len() as u64;
        if file.metadata().is_ok_and(|old| old.len() > length + SPARE) {
            let _ = file.set_len(length);
        }
    }
}

impl AuditLogMark {
    /// Returns the loss of a log with so many records, if there is one.
    pub(crate) fn detect_truncation(&self, has: u64) -> Option<LogTruncatedBody> {
        (self.n > has).then(|| LogTruncatedBody {
            had: self.n,
            has,
            rebooted: self.boot != ProcessIdentity::current().boot,
        })
    }
}
