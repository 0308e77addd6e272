use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use rusqlite::{Connection, OptionalExtension};

use super::log::Tail;
use super::process::boot;
use super::{Durability, Folder, StoreError};
use crate::digest::Digest;

/// How long the text of a mark is, its end included.
const LENGTH: usize = 160;

/// How far the log is known to reach, in a file beside the database. SQLite takes a log of its own
/// that is damaged to end before the damage, and says nothing; whoever knows how far it reached
/// can tell.
///
/// A mark is written after a commit and never synced: it may be behind the log, but not ahead of
/// what was acknowledged.
#[derive(Debug)]
pub(super) struct Marker {
    file: Option<File>,
    durability: Durability,
    boot: String,
}

/// What a mark says.
struct Mark {
    seq: i64,
    hash: Digest,
    /// Whether a loss of power may have taken events that were acknowledged.
    weak: bool,
    boot: String,
}

impl Marker {
    /// The mark of a state folder. One that cannot be written stays behind, which is no harm.
    pub(super) fn new(folder: &Folder, durability: Durability) -> Self {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false);
        Self {
            file: file.open(folder.mark()).ok(),
            durability,
            boot: boot(),
        }
    }

    /// What the events that it notes survive.
    pub(super) fn durability(&self) -> Durability {
        self.durability
    }

    /// Notes the end of the log.
    pub(super) fn put(&self, tail: &Tail) {
        let how = self.durability.as_str();
        let text = format!("{} {} {how} {}", tail.seq, tail.hash, self.boot);
        let line = format!("{text:<0$}\n", LENGTH - 1);
        if let Some(file) = &self.file {
            let _ = file.write_all_at(line.as_bytes(), 0);
        }
    }
}

/// Says whether the log reaches as far as it is known to. Nothing is known where there is no mark,
/// or none that can be read.
pub(super) fn check(connection: Option<&Connection>, folder: &Folder) -> Result<(), StoreError> {
    let failed = |error| StoreError::sqlite(&folder.database(), &error);
    let Some(mark) = read(folder).filter(|mark| !mark.weak || mark.boot == boot()) else {
        return Ok(());
    };
    let (found, kept) = match connection {
        Some(connection) => reach(connection, mark.seq).map_err(failed)?,
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

/// Whether the log ends with the very event that is noted as its last.
pub(super) fn is_at_end(connection: &Connection, folder: &Folder) -> rusqlite::Result<bool> {
    let tail = Tail::read(connection)?;
    Ok(read(folder).is_some_and(|mark| (mark.seq, mark.hash) == (tail.seq, tail.hash)))
}

/// The hash of an event, if it is there, and the number of the last one.
fn reach(connection: &Connection, seq: i64) -> rusqlite::Result<(Option<Digest>, i64)> {
    let hash = connection
        .query_row("SELECT hash FROM events WHERE seq = ?1", [seq], |row| {
            row.get::<_, [u8; 32]>(0).map(Digest::from)
        })
        .optional()?;
    Ok((hash, Tail::read(connection)?.seq))
}

fn read(folder: &Folder) -> Option<Mark> {
    let mut text = [0; LENGTH];
    let file = File::open(folder.mark()).ok()?;
    let read: io::Result<()> = file.read_exact_at(&mut text, 0);
    read.ok()?;
    let mut words = str::from_utf8(&text).ok()?.split_whitespace();
    Some(Mark {
        seq: words.next()?.parse().ok()?,
        hash: words.next()?.parse().ok()?,
        weak: words.next()? != "full",
        boot: words.next().unwrap_or_default().into(),
    })
}
