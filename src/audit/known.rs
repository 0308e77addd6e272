use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::record::Record;
use super::since::Since;
use crate::digest::Digest;

/// How many of the log's last bytes tell it from another one.
const END: u64 = 512;

/// What whoever adds to the log must know of it: a fold of its records. It is kept beside the log, so
/// that nobody need read what others wrote.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Known {
    /// How much of the log it is a fold of, in bytes.
    pub length: u64,
    /// What the next record depends on.
    pub ledger: Ledger,
    /// What a report on it begins with.
    pub since: Since,
}

impl Known {
    /// Takes a record into account that somebody else wrote.
    pub(super) fn add(&mut self, record: &Record) {
        self.ledger.add(record);
        self.since.widen(record.entry.at);
    }

    /// Its text, which fits no other log.
    pub(super) fn text(&self, log: &File) -> io::Result<String> {
        let json = serde_json::to_string(self)?;
        Ok(format!("{} {json}", self.seal(&json, log)?))
    }

    /// Reads its text; `None` if it is none, or that of another log.
    pub(super) fn parse(text: &str, log: &File) -> Option<Self> {
        let (seal, json) = text.split_once(' ')?;
        let known: Self = serde_json::from_str(json).ok()?;
        let own = known.seal(json, log).ok()?;
        (seal == own.to_string()).then_some(known)
    }

    /// A digest of its text and the end of the log. Fails where the log is shorter.
    fn seal(&self, json: &str, log: &File) -> io::Result<Digest> {
        let from = self.length.saturating_sub(END);
        let mut bytes = vec![0; usize::try_from(self.length - from).map_err(io::Error::other)?];
        log.read_exact_at(&mut bytes, from)?;
        bytes.extend_from_slice(json.as_bytes());
        Ok(Digest::of(&bytes))
    }
}
