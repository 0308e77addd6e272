use rusqlite::{Connection, OptionalExtension};

use wf_base::digest::Sha256Digest;

/// The version of the format of bodies.
pub(crate) const FORM: u32 = 1;

/// The hash before the first event.
pub(super) const BEGINNING: [u8; 32] = [0; 32];

/// The position of an event in the log: its number there, from one, and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPosition {
    pub seq: u64,
    pub hash: Sha256Digest,
}

/// The end of the log, which the next event is bound to.
#[derive(Clone, Copy)]
pub(crate) struct LogTail {
    /// The number of the last event; 0 if there is none.
    pub seq: i64,
    pub hash: Sha256Digest,
}

impl From<&LogTail> for LogPosition {
    fn from(tail: &LogTail) -> Self {
        Self { seq: tail.seq.unsigned_abs(), hash: tail.hash }
    }
}

/// The position of an event in its run.
#[derive(Clone, Copy)]
pub(crate) struct RunPosition {
    /// The key of its run.
    pub run: i64,
    /// Its number in the run.
    pub n: i64,
    /// The version of the format of its body.
    pub v: u32,
}

impl RunPosition {
    /// Returns the position of an event belonging to no run, at the end of the log.
    pub(crate) fn of_state(tail: &LogTail) -> Self {
        Self { run: tail.seq + 1, n: 0, v: FORM }
    }
}

impl LogTail {
    /// Reads the end, inside the transaction that appends: other processes write too.
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let found = connection
            .prepare_cached("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1")?
            .query_row([], |row| {
                let hash: [u8; 32] = row.get(1)?;
                Ok(Self { seq: row.get(0)?, hash: hash.into() })
            })
            .optional()?;
        Ok(found.unwrap_or(Self { seq: 0, hash: BEGINNING.into() }))
    }

    /// Adds an event.
    pub(crate) fn push(
        &mut self,
        connection: &Connection,
        position: RunPosition,
        body: &str,
    ) -> rusqlite::Result<()> {
        let hash = hash(&self.hash, position, &Sha256Digest::of_bytes(body.as_bytes()));
        connection
            .prepare_cached(
                "INSERT INTO events (seq, run, run_seq, body_version, body, prev, hash)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute((
                self.seq + 1,
                position.run,
                position.n,
                position.v,
                body,
                self.hash.bytes(),
                hash.bytes(),
            ))?;
        self.seq += 1;
        self.hash = hash;
        Ok(())
    }
}

/// Returns the hash of an event: SHA-256 of the hash before it, its run's key and its number (64
/// bits each, most significant byte first), the version of its format (32 bits) and the SHA-256 of
/// its body.
pub(crate) fn hash(prev: &Sha256Digest, position: RunPosition, body: &Sha256Digest) -> Sha256Digest {
    let mut bytes = Vec::with_capacity(84);
    bytes.extend_from_slice(prev.bytes());
    bytes.extend_from_slice(&position.run.to_be_bytes());
    bytes.extend_from_slice(&position.n.to_be_bytes());
    bytes.extend_from_slice(&position.v.to_be_bytes());
    bytes.extend_from_slice(body.bytes());
    Sha256Digest::of_bytes(&bytes)
}
