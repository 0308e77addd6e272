use rusqlite::{Connection, OptionalExtension};

use super::LogPlace;
use crate::digest::Digest;

/// The version of the form that bodies are written in.
pub(super) const FORM: u32 = 1;

/// What comes before the first event.
pub(super) const BEGINNING: [u8; 32] = [0; 32];

/// The end of the log: where the next event is bound.
#[derive(Clone, Copy)]
pub(super) struct Tail {
    /// The place of the last event; 0 if there is none.
    pub seq: i64,
    /// Its hash.
    pub hash: Digest,
}

impl From<&Tail> for LogPlace {
    fn from(tail: &Tail) -> Self {
        Self {
            seq: tail.seq.unsigned_abs(),
            hash: tail.hash,
        }
    }
}

/// An event's place in the log and in its run.
#[derive(Clone, Copy)]
pub(super) struct Position {
    /// The key of its run.
    pub run: i64,
    /// Its number in the run.
    pub n: i64,
    /// The version of the form of its body.
    pub v: u32,
}

impl Position {
    /// The place of an event that belongs to no run, behind the end of the log.
    pub(super) fn of_state(tail: &Tail) -> Self {
        Self {
            run: tail.seq + 1,
            n: 0,
            v: FORM,
        }
    }
}

impl Tail {
    /// Reads it, inside the transaction that appends: other processes write too.
    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let found = connection
            .prepare_cached("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1")?
            .query_row([], |row| {
                let hash: [u8; 32] = row.get(1)?;
                Ok(Self {
                    seq: row.get(0)?,
                    hash: hash.into(),
                })
            })
            .optional()?;
        Ok(found.unwrap_or(Self {
            seq: 0,
            hash: BEGINNING.into(),
        }))
    }

    /// Adds an event.
    pub(super) fn push(
        &mut self,
        connection: &Connection,
        place: Position,
        body: &str,
    ) -> rusqlite::Result<()> {
        let hash = hash(&self.hash, place, &Digest::of(body.as_bytes()));
        connection
            .prepare_cached(
                "INSERT INTO events (seq, run, n, v, body, prev, hash)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute((
                self.seq + 1,
                place.run,
                place.n,
                place.v,
                body,
                self.hash.bytes(),
                hash.bytes(),
            ))?;
        self.seq += 1;
        self.hash = hash;
        Ok(())
    }
}

/// The hash of an event: SHA-256 of the hash before it, its run's key and its number (64 bits
/// each, most significant byte first), the version of its form (32 bits) and the SHA-256 of its
/// body.
pub(super) fn hash(prev: &Digest, place: Position, body: &Digest) -> Digest {
    let mut bytes = Vec::with_capacity(84);
    bytes.extend_from_slice(prev.bytes());
    bytes.extend_from_slice(&place.run.to_be_bytes());
    bytes.extend_from_slice(&place.n.to_be_bytes());
    bytes.extend_from_slice(&place.v.to_be_bytes());
    bytes.extend_from_slice(body.bytes());
    Digest::of(&bytes)
}
