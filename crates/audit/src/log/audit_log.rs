use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, MetadataExt},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    log::{
        known::{AuditCursor, UnreportedRange},
        mark,
        read::LazyReportWindow,
        tail,
    },
    records::{
        ledger::AuditLogState,
        record::{AuditEntry, AuditRecord},
        unseen::UnconfirmedEvents,
        words::{LOG_TRUNCATED, PARTIAL_RECORD, REPORT},
    },
    stats::ReportWindow,
};
use wf_base::time::Moment;
use wf_store::own_file;

/// The auditor's folder in the state folder.
pub const FOLDER: &str = "audit";

/// The name of the auditor's log.
pub const LOG: &str = "log.jsonl";

/// The log, open for appending. Several processes may have it open.
#[derive(Debug)]
pub(crate) struct AuditLog {
    pub(crate) dir: PathBuf,
    /// The device and number of the folder that the state is in: another one in its place is another workspace.
    place: (u64, u64),
    pub(crate) file: File,
    pub(crate) cursor: AuditCursor,
    pub(crate) window: LazyReportWindow,
}

/// The log, locked against other processes.
pub(crate) struct LockedAuditLog<'a> {
    log: &'a mut AuditLog,
    lines: String,
    state: AuditLogState,
    /// The new records, and the length of the lines up to the end of each.
    new_records: Vec<(AuditRecord, usize)>,
}

/// Creates the folder of the log, which may be the first of the state folder: only its owner may enter either.
fn create_folder(dir: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Returns the device and number of the folder that a state is in, from that of its log.
fn place_of(dir: &Path) -> io::Result<(u64, u64)> {
    let place = dir.ancestors().nth(2).filter(|place| !place.as_os_str().is_empty());
    let place = fs::metadata(place.unwrap_or(Path::new(".")))?;
    Ok((place.dev(), place.ino()))
}

impl AuditLog {
    /// Opens the log of a state folder, creating it if there is none.
    pub(crate) fn open(state: &Path) -> io::Result<Self> {
        let dir = state.join(FOLDER);
        create_folder(&dir)?;
        mark::check_regular_file(&dir)?;
        let file = open(&dir.join(LOG))?;
        let place = place_of(&dir)?;
        let mut log =
            Self { dir, place, file, cursor: AuditCursor::default(), window: LazyReportWindow::default() };
        log.add(|turn| {
            let mark = mark::read(&turn.log.dir);
            if let Some(cut) = mark.and_then(|mark| mark.detect_truncation(turn.state.n)) {
                let at = turn.state.at;
                turn.add(AuditEntry::new(at, LOG_TRUNCATED).with_summary(&cut));
            }
        })?;
        Ok(log)
    }

    /// Returns the state the next record depends on, as of the last turn.
    pub(crate) fn ledger(&self) -> &AuditLogState {
        &self.cursor.ledger
    }

    /// True if the records since the last report may span the given activity.
    pub(crate) fn may_span(&self, length: Duration) -> bool {
        self.cursor.since.may_span(length)
    }

    /// Waits for the lock, reads the records of other processes, and calls `write` to append, all
    /// in one write.
    pub(crate) fn add(&mut self, write: impl FnOnce(&mut LockedAuditLog<'_>)) -> io::Result<()> {
        self.lock()?;
        let done = self.add_locked(write);
        self.file.unlock()?;
        done
    }

    fn add_locked(&mut self, write: impl FnOnce(&mut LockedAuditLog<'_>)) -> io::Result<()> {
        let torn = self.read_other_records()?;
        let mut turn = LockedAuditLog {
            state: self.cursor.ledger.clone(),
            log: self,
            lines: String::new(),
            new_records: Vec::new(),
        };
        if let Some(torn) = torn {
            turn.repair_last_line(torn)?;
        }
        write(&mut turn);
        turn.write()
    }

    /// Locks the file with the log's name: a restore replaces it.
    fn lock(&mut self) -> io::Result<()> {
        loop {
            self.file.lock()?;
            let path = self.dir.join(LOG);
            let (own, named) = (self.file.metadata()?, fs::metadata(&path));
            if named.is_ok_and(|named| (named.dev(), named.ino()) == (own.dev(), own.ino())) {
                return Ok(());
            }
            self.file.unlock()?;
            self.check_place()?;
            create_folder(&self.dir)?;
            self.file = open(&path)?;
            self.cursor = AuditCursor::default();
            self.window = LazyReportWindow::default();
        }
    }

    /// Fails if the workspace was moved: what stands in its place has a log of its own.
    fn check_place(&self) -> io::Result<()> {
        if place_of(&self.dir).is_ok_and(|place| place == self.place) {
            return Ok(());
        }
        let message = format!("the workspace of {} was moved, removed or replaced", self.dir.display());
        Err(io::Error::new(io::ErrorKind::NotFound, message))
    }

    /// Reads the records that other processes added: the last writer left a fold of them. If it
    /// died before, or wrote none, the lines are read.
    fn read_other_records(&mut self) -> io::Result<Option<tail::UnterminatedLine>> {
        let length = self.file.metadata()?.len();
        if length == self.cursor.length {
            return Ok(None);
        }
        if length < self.cursor.length {
            // The log was replaced; the present one counts.
            self.cursor = AuditCursor::default();
            self.window = LazyReportWindow::default();
        }
        let left = mark::read_cursor(&self.dir, &self.file);
        if let Some(left) = left.filter(|left| left.length > self.cursor.length) {
            self.cursor = left;
        }
        let tail = if self.cursor.length == 0 {
            let tail = tail::read(&self.file)?;
            self.cursor.since = UnreportedRange::new(tail.from, UnconfirmedEvents::default());
            tail
        } else {
            tail::lines(&self.file, self.cursor.length, length)?
        };
        for record in &tail.records {
            self.cursor.add(record);
        }
        self.cursor.length = tail.length;
        Ok(tail.torn_line)
    }
}

impl LockedAuditLog<'_> {
    /// Returns the state the next record depends on, with the additions of this turn.
    pub(crate) fn ledger(&self) -> &AuditLogState {
        &self.state
    }

    /// Returns the records since the last report, without the additions of this turn.
    pub(crate) fn window(&mut self) -> io::Result<&ReportWindow> {
        let log = &mut *self.log;
        log.window.fill(&log.file, log.cursor.length, &log.cursor.since)
    }

    pub(crate) fn unread_bytes(&self) -> u64 {
        let known = &self.log.cursor;
        self.log.window.unread_bytes(known.length, &known.since)
    }

    /// Adds a record.
    pub(crate) fn add(&mut self, entry: AuditEntry) {
        let (record, line) = entry.bind_line(self.state.n + 1, self.state.hash);
        self.lines += &line;
        self.lines.push('\n');
        self.state.add(&record);
        self.new_records.push((record, self.lines.len()));
    }

    /// Starts a new segment of the log, if the present one has a length and nothing was added in this turn.
    pub(crate) fn start_segment(&mut self, length: u64, now: Moment) -> io::Result<()> {
        if self.log.cursor.length >= length && self.new_records.is_empty() {
            self.log.start_segment(now)?;
            self.state = self.log.cursor.ledger.clone();
        }
        Ok(())
    }

    /// Completes a whole last line, or removes an incomplete one, and records it.
    fn repair_last_line(&mut self, line: tail::UnterminatedLine) -> io::Result<()> {
        match line {
            tail::UnterminatedLine::Whole { record, bytes } => {
                let known = &mut self.log.cursor;
                self.log.file.write_all_at(b"\n", known.length + bytes)?;
                known.length += bytes + 1;
                known.add(&record);
                self.state.add(&record);
            }
            tail::UnterminatedLine::Half { bytes, digest } => {
                self.log.file.set_len(self.log.cursor.length)?;
                let about = serde_json::json!({ "bytes": bytes, "sha256": digest });
                let at = self.state.at;
                self.add(AuditEntry::new(at, PARTIAL_RECORD).with_summary(&about));
            }
        }
        Ok(())
    }

    /// Writes the new records. A partial write is undone.
    fn write(self) -> io::Result<()> {
        let Self { log, lines, state, new_records: new } = self;
        if new.is_empty() {
            return Ok(());
        }
        let known = &mut log.cursor;
        let start = known.length;
        if let Err(error) = log.file.write_all_at(lines.as_bytes(), start) {
            let _ = log.file.set_len(start);
            return Err(error);
        }
        for (record, end) in new {
            let (from, to) = (known.length, start + end as u64);
            log.window.written(from, to, &record);
            known.length = to;
            known.since.extend_span(record.entry.at);
            if record.entry.kind == REPORT
                && let Some(since) = log.window.since(from, to)
            {
                known.since = since;
            }
        }
        known.ledger = state;
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
