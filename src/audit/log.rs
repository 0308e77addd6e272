use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::known::Known;
use super::ledger::Ledger;
use super::mark;
use super::record::{Entry, Record};
use super::since::Since;
use super::stats::{Unseen, Window};
use super::tail;
use super::view::View;
use super::words::{CUT, REPORT, TORN};
use crate::store::own_file;

/// The folder of the auditor in the state folder.
pub const FOLDER: &str = "audit";

/// The name of its log.
pub const LOG: &str = "log.jsonl";

/// The log, open for adding to it. Several processes may have it open.
#[derive(Debug)]
pub(super) struct Log {
    dir: PathBuf,
    file: File,
    known: Known,
    view: View,
}

/// The log while nobody else can add to it.
pub(super) struct Turn<'a> {
    log: &'a mut Log,
    lines: String,
    ledger: Ledger,
    /// What is new, and how long the lines are up to its end.
    new: Vec<(Record, usize)>,
}

impl Log {
    /// Opens the log of a state folder, making it where there is none.
    pub(super) fn open(state: &Path) -> io::Result<Self> {
        let dir = state.join(FOLDER);
        fs::create_dir_all(&dir)?;
        mark::own(&dir)?;
        let file = open(&dir.join(LOG))?;
        let mut log = Self {
            dir,
            file,
            known: Known::default(),
            view: View::default(),
        };
        log.add(|turn| {
            let mark = mark::read(&turn.log.dir);
            if let Some(cut) = mark.and_then(|mark| mark.cut(turn.ledger.n)) {
                let at = turn.ledger.at;
                turn.add(Entry::new(at, CUT).about(&cut));
            }
        })?;
        Ok(log)
    }

    /// What the next record depends on, as of when it was last looked at.
    pub(super) fn ledger(&self) -> &Ledger {
        &self.known.ledger
    }

    /// Whether what came since the last report may span so much activity.
    pub(super) fn spans(&self, length: Duration) -> bool {
        self.known.since.spans(length)
    }

    /// Waits until nobody else adds to the log, learns what others added, and lets something be
    /// added, all of it in one write.
    pub(super) fn add(&mut self, write: impl FnOnce(&mut Turn<'_>)) -> io::Result<()> {
        self.lock()?;
        let done = self.add_locked(write);
        self.file.unlock()?;
        done
    }

    fn add_locked(&mut self, write: impl FnOnce(&mut Turn<'_>)) -> io::Result<()> {
        let torn = self.others()?;
        let mut turn = Turn {
            ledger: self.known.ledger.clone(),
            log: self,
            lines: String::new(),
            new: Vec::new(),
        };
        if let Some(torn) = torn {
            turn.mend(torn)?;
        }
        write(&mut turn);
        turn.write()
    }

    /// Gets the lock of the file that has the log's name: a restore puts another one there.
    fn lock(&mut self) -> io::Result<()> {
        loop {
            self.file.lock()?;
            let path = self.dir.join(LOG);
            let (own, named) = (self.file.metadata()?, fs::metadata(&path));
            if named.is_ok_and(|named| (named.dev(), named.ino()) == (own.dev(), own.ino())) {
                return Ok(());
            }
            self.file.unlock()?;
            fs::create_dir_all(&self.dir)?;
            self.file = open(&path)?;
            self.known = Known::default();
            self.view = View::default();
        }
    }

    /// Learns what others added since it was last looked at: whoever wrote last left what there is
    /// to know. If that died before, or wrote without, the lines are read.
    fn others(&mut self) -> io::Result<Option<tail::Torn>> {
        let length = self.file.metadata()?.len();
        if length == self.known.length {
            return Ok(None);
        }
        if length < self.known.length {
            // It is not what it was; what is there counts.
            self.known = Known::default();
            self.view = View::default();
        }
        let left = mark::known(&self.dir, &self.file);
        if let Some(left) = left.filter(|left| left.length > self.known.length) {
            self.known = left;
        }
        let tail = if self.known.length == 0 {
            let tail = tail::read(&self.file)?;
            self.known.since = Since::new(tail.from, Unseen::default());
            tail
        } else {
            tail::lines(&self.file, self.known.length, length)?
        };
        for record in &tail.records {
            self.known.add(record);
        }
        self.known.length = tail.length;
        Ok(tail.torn)
    }
}

impl Turn<'_> {
    /// What the next record depends on, with what was added in this turn.
    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What came since the last report, without what was added in this turn.
    pub(super) fn window(&mut self) -> io::Result<&Window> {
        let log = &mut *self.log;
        log.view.fill(&log.file, log.known.length, &log.known.since)
    }

    /// How much has to be read for that, in bytes.
    pub(super) fn unread(&self) -> u64 {
        let known = &self.log.known;
        self.log.view.lacks(known.length, &known.since)
    }

    /// Adds a record.
    pub(super) fn add(&mut self, entry: Entry) {
        let (record, line) = entry.bind_line(self.ledger.n + 1, self.ledger.hash);
        self.lines += &line;
        self.lines.push('\n');
        self.ledger.add(&record);
        self.new.push((record, self.lines.len()));
    }

    /// Ends a last line that is whole, or takes away half a one, and says so.
    fn mend(&mut self, torn: tail::Torn) -> io::Result<()> {
        match torn {
            tail::Torn::Whole { record, bytes } => {
                let known = &mut self.log.known;
                self.log.file.write_all_at(b"\n", known.length + bytes)?;
                known.length += bytes + 1;
                known.add(&record);
                self.ledger.add(&record);
            }
            tail::Torn::Half { bytes, digest } => {
                self.log.file.set_len(self.log.known.length)?;
                let about = serde_json::json!({ "bytes": bytes, "sha256": digest });
                let at = self.ledger.at;
                self.add(Entry::new(at, TORN).about(&about));
            }
        }
        Ok(())
    }

    /// Writes what was added. What cannot be written whole is taken back.
    fn write(self) -> io::Result<()> {
        let Self {
            log,
            lines,
            ledger,
            new,
        } = self;
        if new.is_empty() {
            return Ok(());
        }
        let known = &mut log.known;
        let start = known.length;
        if let Err(error) = log.file.write_all_at(lines.as_bytes(), start) {
            let _ = log.file.set_len(start);
            return Err(error);
        }
        for (record, end) in new {
            let (from, to) = (known.length, start + end as u64);
            log.view.written(from, to, &record);
            known.length = to;
            known.since.widen(record.entry.at);
            if record.entry.kind == REPORT
                && let Some(since) = log.view.since(from, to)
            {
                known.since = since;
            }
        }
        known.ledger = ledger;
        mark::write(&log.dir, known, &log.file);
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    own_file(path)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}
