use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
};

use rusqlite::{Connection, OptionalExtension};

use crate::{
    error::StoreError,
    files::folder::{StateFolder, StoreDurability},
    lease::process::boot,
    log::tail::LogTail,
};
use wf_base::digest::Sha256Digest;

/// The length of a mark's text, with its line end.
const LENGTH: usize = 160;

/// The mark of the log's last known event, in a file beside the database. SQLite takes a damaged
/// write-ahead log to end before the damage, without an error; the mark reveals the loss.
///
/// A mark is written after a commit and never synced: it may be behind the log, but not ahead of
/// the acknowledged events.
#[derive(Debug)]
pub(crate) struct LogMarkFile {
    file: Option<File>,
    durability: StoreDurability,
    boot: String,
}

/// The content of a mark.
struct LogMark {
    seq: i64,
    hash: Sha256Digest,
    /// True if a loss of power may have taken acknowledged events.
    may_have_lost: bool,
    boot: String,
}

impl LogMarkFile {
    /// Opens the mark of a state folder. One that cannot be written stays behind: harmless.
    pub(crate) fn new(folder: &StateFolder, durability: StoreDurability) -> Self {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false);
        Self { file: file.open(folder.mark()).ok(), durability, boot: boot() }
    }

    /// Returns the durability of the events it marks.
    pub(crate) fn durability(&self) -> StoreDurability {
        self.durability
    }

    /// Records the end of the log.
    pub(crate) fn write_mark(&self, tail: &LogTail) {
        let how = self.durability.as_str();
        let text = format!("{} {} {how} {}", tail.seq, tail.hash, self.boot);
        let line = format!("{text:<0$}\n", LENGTH - 1);
        if let Some(file) = &self.file {
            let _ = file.write_all_at(line.as_bytes(), 0);
        }
    }
}

/// Checks that the log reaches as far as its mark. Without a readable mark nothing is known.
pub(crate) fn check(connection: Option<&Connection>, folder: &StateFolder) -> Result<(), StoreError> {
    let failed = |error| StoreError::sqlite(&folder.database(), &error);
    let Some(mark) = read(folder).filter(|mark| !mark.may_have_lost || mark.boot == boot()) else {
        return Ok(());
    };
    let (found, kept) = match connection {
        Some(connection) => event_and_last(connection, mark.seq).map_err(failed)?,
        None => (None, 0),
    };
    if found == Some(mark.hash) {
        return Ok(());
    }
    Err(StoreError::Lost {
        path: folder.database(),
        kept: kept.unsigned_abs(),
        known: mark.seq.unsigned_abs(),
    })
}

/// True if the log ends with exactly the event of its mark.
pub(crate) fn is_at_end(connection: &Connection, folder: &StateFolder) -> rusqlite::Result<bool> {
    let tail = LogTail::read(connection)?;
    Ok(read(folder).is_some_and(|mark| (mark.seq, mark.hash) == (tail.seq, tail.hash)))
}

/// Returns the hash of an event, if it exists, and the number of the last one.
fn event_and_last(connection: &Connection, seq: i64) -> rusqlite::Result<(Option<Sha256Digest>, i64)> {
    Ok((hash_of(connection, seq)?, LogTail::read(connection)?.seq))
}

/// Returns the stored hash of an event, if it exists.
pub(crate) fn hash_of(connection: &Connection, seq: i64) -> rusqlite::Result<Option<Sha256Digest>> {
    let hash = |row: &rusqlite::Row<'_>| row.get::<_, [u8; 32]>(0).map(Sha256Digest::from);
    connection.query_row("SELECT hash FROM events WHERE seq = ?1", [seq], hash).optional()
}

fn read(folder: &StateFolder) -> Option<LogMark> {
    let mut text = [0; LENGTH];
    let file = File::open(folder.mark()).ok()?;
    let read: io::Result<()> = file.read_exact_at(&mut text, 0);
    read.ok()?;
    let mut words = str::from_utf8(&text).ok()?.split_whitespace();
    Some(LogMark {
        seq: words.next()?.parse().ok()?,
        hash: words.next()?.parse().ok()?,
        may_have_lost: words.next()? != "full",
        boot: words.next().unwrap_or_default().into(),
    })
}
