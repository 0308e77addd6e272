use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::known::Known;
use super::words::Cut;
use crate::digest::Digest;
use crate::store::{Process, own_file};

/// The name of the file beside the log that says how far it reaches.
const MARK: &str = "log.mark";

/// How long its first line is, its end included. The second has what is known of the log.
const LENGTH: usize = 160;

/// How much of an earlier, longer text may stay behind the second line, in bytes.
const SPARE: u64 = 4096;

/// How far the log is known to reach. Written after the log and never synced: it may be behind
/// it, and is ahead of it only if the end of the log is gone.
#[derive(Debug, PartialEq)]
pub(super) struct Mark {
    /// The number of the last record.
    pub n: u64,
    /// Its hash.
    pub hash: Digest,
    boot: String,
}

/// Refuses a mark that is no file.
pub(super) fn own(dir: &Path) -> io::Result<()> {
    own_file(&dir.join(MARK))
}

/// Reads the mark; `None` where there is none that can be read.
pub(super) fn read(dir: &Path) -> Option<Mark> {
    let text = std::fs::read_to_string(dir.join(MARK)).ok()?;
    let mut words = text.lines().next()?.split_whitespace();
    Some(Mark {
        n: words.next()?.parse().ok()?,
        hash: words.next()?.parse().ok()?,
        boot: words.next().unwrap_or_default().into(),
    })
}

/// What was known of the log when the mark was written; `None` where it was another log.
pub(super) fn known(dir: &Path, log: &File) -> Option<Known> {
    let text = std::fs::read_to_string(dir.join(MARK)).ok()?;
    Known::parse(text.lines().nth(1)?, log)
}

/// Notes how far the log reaches, and what is known of it. One that cannot be written stays behind,
/// which is no harm.
pub(super) fn write(dir: &Path, known: &Known, log: &File) {
    let (ledger, boot) = (&known.ledger, Process::current().boot);
    let text = format!("{} {} {boot}", ledger.n, ledger.hash);
    let rest = known.text(log).unwrap_or_default();
    let text = format!("{text:<0$}\n{rest}\n", LENGTH - 1);
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(dir.join(MARK));
    if let Ok(file) = file {
        let _ = file.write_all_at(text.as_bytes(), 0);
        // Much was to be known while many worked at once; nobody is to read that for ever.
        let length = text.len() as u64;
        if file.metadata().is_ok_and(|old| old.len() > length + SPARE) {
            let _ = file.set_len(length);
        }
    }
}

impl Mark {
    /// What is gone of a log with so many records, if anything is.
    pub(super) fn cut(&self, has: u64) -> Option<Cut> {
        (self.n > has).then(|| Cut {
            had: self.n,
            has,
            rebooted: self.boot != Process::current().boot,
        })
    }
}
