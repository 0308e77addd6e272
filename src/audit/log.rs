use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::ledger::Ledger;
use super::mark;
use super::record::{Entry, Record};
use super::tail;

/// The folder of the auditor in the state folder.
pub const FOLDER: &str = "audit";

/// The name of its log.
pub const LOG: &str = "log.jsonl";

/// The log, open for adding to it. Several processes may have it open.
#[derive(Debug)]
pub(super) struct Log {
    dir: PathBuf,
    file: File,
    /// How far it was read.
    length: u64,
    /// What it says.
    pub ledger: Ledger,
}

/// The log while nobody else can add to it.
pub(super) struct Turn<'a> {
    log: &'a mut Log,
    lines: String,
    ledger: Ledger,
    new: Vec<Record>,
}

impl Log {
    /// Opens the log of a state folder, making it where there is none. `see` is shown the records
    /// since the last report, and since somebody last began or ended to watch.
    pub(super) fn open(state: &Path, see: &mut dyn FnMut(&Record)) -> io::Result<Self> {
        let dir = state.join(FOLDER);
        fs::create_dir_all(&dir)?;
        let file = options().open(dir.join(LOG))?;
        let mut log = Self {
            dir,
            file,
            length: 0,
            ledger: Ledger::default(),
        };
        log.lock()?;
        let found = log.begin(see);
        log.file.unlock()?;
        found.map(|()| log)
    }

    fn begin(&mut self, see: &mut dyn FnMut(&Record)) -> io::Result<()> {
        let read = tail::read(&self.file)?;
        self.length = read.length;
        for record in &read.records {
            self.ledger.add(record);
            see(record);
        }
        let mark = mark::read(&self.dir);
        let mut turn = self.turn();
        if let Some(torn) = read.torn {
            turn.mend(torn)?;
        }
        if let Some(cut) = mark.and_then(|mark| mark.cut(turn.ledger.n)) {
            let at = turn.ledger.at;
            turn.add(Entry::new(at, super::words::CUT).about(&cut));
        }
        turn.write()?.iter().for_each(see);
        Ok(())
    }

    /// Waits until nobody else adds to the log, reads what others added, and lets something be
    /// added, all of it in one write. `see` is shown every new record, others' and own.
    pub(super) fn add(
        &mut self,
        see: &mut dyn FnMut(&Record),
        write: impl FnOnce(&mut Turn<'_>),
    ) -> io::Result<()> {
        self.lock()?;
        let done = self.add_locked(see, write);
        self.file.unlock()?;
        done
    }

    fn add_locked(
        &mut self,
        see: &mut dyn FnMut(&Record),
        write: impl FnOnce(&mut Turn<'_>),
    ) -> io::Result<()> {
        let (records, torn) = self.others()?;
        records.iter().for_each(&mut *see);
        let mut turn = self.turn();
        if let Some(torn) = torn {
            turn.mend(torn)?;
        }
        write(&mut turn);
        turn.write()?.iter().for_each(see);
        Ok(())
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
            self.file = options().open(path)?;
            self.length = 0;
            self.ledger = Ledger::default();
        }
    }

    /// What others added since it was read last.
    fn others(&mut self) -> io::Result<(Vec<Record>, Option<tail::Torn>)> {
        let length = self.file.metadata()?.len();
        if length == self.length {
            return Ok((Vec::new(), None));
        }
        let anew = length < self.length || self.length == 0;
        let read = if anew {
            // It is not what it was; what is there counts.
            self.ledger = Ledger::default();
            tail::read(&self.file)?
        } else {
            tail::lines(&self.file, self.length, length)?
        };
        self.length = read.length;
        for record in &read.records {
            self.ledger.add(record);
        }
        let records = if anew { Vec::new() } else { read.records };
        Ok((records, read.torn))
    }

    fn turn(&mut self) -> Turn<'_> {
        Turn {
            ledger: self.ledger.clone(),
            log: self,
            lines: String::new(),
            new: Vec::new(),
        }
    }
}

impl Turn<'_> {
    /// What the log says, with what was added in this turn.
    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Adds a record.
    pub(super) fn add(&mut self, entry: Entry) {
        let (record, line) = entry.bind_line(self.ledger.n + 1, self.ledger.hash);
        self.lines += &line;
        self.lines.push('\n');
        self.ledger.add(&record);
        self.new.push(record);
    }

    /// Ends a last line that is whole, or takes away half a one, and says so.
    fn mend(&mut self, torn: tail::Torn) -> io::Result<()> {
        match torn {
            tail::Torn::Whole(record) => {
                self.log.file.write_all_at(b"\n", self.log.length)?;
                self.log.length += 1;
                self.ledger.add(&record);
                self.log.ledger.add(&record);
            }
            tail::Torn::Half { bytes, digest } => {
                self.log.file.set_len(self.log.length)?;
                let about = serde_json::json!({ "bytes": bytes, "sha256": digest });
                let at = self.ledger.at;
                self.add(Entry::new(at, super::words::TORN).about(&about));
            }
        }
        Ok(())
    }

    /// Writes what was added. What cannot be written whole is taken back.
    fn write(self) -> io::Result<Vec<Record>> {
        let Self {
            log,
            lines,
            ledger,
            new,
        } = self;
        if new.is_empty() {
            return Ok(new);
        }
        if let Err(error) = log.file.write_all_at(lines.as_bytes(), log.length) {
            let _ = log.file.set_len(log.length);
            return Err(error);
        }
        log.length += lines.len() as u64;
        log.ledger = ledger;
        mark::write(&log.dir, &log.ledger);
        Ok(new)
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options
}
