use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::ledger::Ledger;
use super::words::Cut;
use crate::digest::Digest;
use crate::store::Process;

/// The name of the file beside the log that says how far it reaches.
const MARK: &str = "log.mark";

/// How long its text is, its end included.
const LENGTH: usize = 160;

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

/// Reads the mark; `None` where there is none that can be read.
pub(super) fn read(dir: &Path) -> Option<Mark> {
    let text = std::fs::read_to_string(dir.join(MARK)).ok()?;
    let mut words = text.split_whitespace();
    Some(Mark {
        n: words.next()?.parse().ok()?,
        hash: words.next()?.parse().ok()?,
        boot: words.next().unwrap_or_default().into(),
    })
}

/// Notes how far the log reaches. One that cannot be written stays behind, which is no harm.
pub(super) fn write(dir: &Path, ledger: &Ledger) {
    let boot = Process::current().boot;
    let text = format!("{} {} {boot}", ledger.n, ledger.hash);
    let line = format!("{text:<0$}\n", LENGTH - 1);
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(dir.join(MARK));
    if let Ok(file) = file {
        let _ = file.write_all_at(line.as_bytes(), 0);
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
