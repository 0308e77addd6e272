//! The upgrade of a state an earlier version wrote: its outlook, the copy from before, and the way back.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::Connection;
use walkdir::WalkDir;

use crate::{
    column::integer,
    db::{
        connect, migrate,
        migrate::{MIGRATIONS, SchemaState, copy_name, copy_size},
    },
    error::StoreError,
    files::{
        folder::{RunRetention, StateFolder},
        reserve::free_space,
    },
    log::tail::LogTail,
    maintenance::{
        backup::{BackupManifest, FOLDERS, FORM},
        prune::beyond,
    },
};
use wf_base::{name::RunId, program, time::Moment};

/// The time for which the copy from before an upgrade is kept; then pruning removes it.
pub(super) const COPY_AGE: Duration = Duration::from_hours(30 * 24);

/// The speed at which a database is copied on a slow disk, in bytes per second.
const COPY_SPEED: u64 = 50 << 20;

/// The first bytes of a database.
const DATABASE_HEAD: &[u8; 16] = b"SQLite format 3\0";

/// The change this program makes to a state of an earlier version, once it opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateUpgrade {
    /// The schema of the state.
    pub from: u32,
    /// The schema afterwards.
    pub to: u32,
    /// The program that opened the state last to write, if it is known.
    pub program: Option<String>,
    /// The size of the copy made before, in bytes.
    pub copy_size: u64,
    pub copy: PathBuf,
    /// The free space on its disk, in bytes, if it is known.
    pub free: Option<u64>,
    /// The outermost runs that have not ended.
    pub open_runs: Vec<OpenRun>,
    /// The number of outermost runs that are beyond the limits.
    pub exceeding_runs: usize,
}

/// A run that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    pub run: RunId,
    /// The version of the rules it started under.
    pub logic_version: u32,
}

impl StateUpgrade {
    /// Returns the outlook for a state, which stays as it is; `None`: it needs no upgrade. `keep` are the limits on finished runs.
    pub fn read(dir: &Path, retention: RunRetention, now: Moment) -> Result<Option<Self>, StoreError> {
        let folder = StateFolder::new(dir);
        let path = folder.database();
        if !path.exists() {
            return Ok(None);
        }
        let connection = connect::unchecked(&path)?;
        let schema = migrate::inspect(&connection, &path).map_err(|error| error.at(&path))?;
        let SchemaState::Old(from) = schema else { return Ok(None) };
        let copy = folder.upgrades().join(copy_name(from));
        Ok(Some(Self {
            from,
            to: u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX),
            program: migrate::last_program(&connection),
            copy_size: copy_size(&connection).map_err(|error| StoreError::sqlite(&path, &error))?,
            free: free_space(dir),
            copy,
            open_runs: open_runs(&connection).map_err(|error| StoreError::sqlite(&path, &error))?,
            exceeding_runs: beyond(&connection, retention, now)
                .map_err(|error| StoreError::sqlite(&path, &error))?
                .len(),
        }))
    }

    /// Returns the longest time the upgrade takes on a slow disk.
    pub fn duration(&self) -> Duration {
        Duration::from_secs(self.copy_size / COPY_SPEED + 1)
    }

    /// True if the disk has room for the copy.
    pub fn has_room(&self) -> bool {
        self.free.is_none_or(|free| free > self.copy_size)
    }
}

fn open_runs(connection: &Connection) -> rusqlite::Result<Vec<OpenRun>> {
    let sql = "SELECT runs.id, coalesce(events.body ->> '$.logic_version', 0)
               FROM runs JOIN events ON events.run = runs.key AND events.kind = 'run_started'
               WHERE runs.outcome IS NULL AND runs.parent IS NULL ORDER BY runs.key";
    let run = |row: &rusqlite::Row<'_>| {
        let id: String = row.get(0)?;
        Ok(OpenRun { run: RunId::from_stored(id), logic_version: row.get(1)? })
    };
    connection.prepare(sql)?.query_map([], run)?.collect()
}

impl StateFolder {
    /// True if a copy from before an upgrade is kept, which needs the files of the runs of then for the way back.
    pub fn has_way_back(&self, now: Moment) -> bool {
        let age = integer(COPY_AGE.as_millis());
        let copies = self.upgrades().read_dir().into_iter().flatten().flatten();
        let whole = copies.filter(|copy| copy.path().extension().is_some_and(|end| end == "db"));
        let mut made = whole.filter_map(|copy| copy.metadata().ok()?.modified().ok());
        made.any(|made| moment_of(made).millis() > now.millis().saturating_sub(age))
    }
}

/// True if a file is a database, not an archive.
pub(super) fn is_database(path: &Path) -> bool {
    let mut head = [0; DATABASE_HEAD.len()];
    crate::files::folder::open_regular(path).is_ok_and(|mut file| file.read_exact(&mut head).is_ok())
        && head == *DATABASE_HEAD
}

/// Makes a state of the copy from before an upgrade, and of the files that lie beside the database now: none of these changes
/// once it is written. Returns its manifest.
pub(super) fn adopt_copy(copy: &Path, dir: &Path, fresh: &Path) -> Result<BackupManifest, StoreError> {
    let folder = StateFolder::new(fresh);
    let failed = |error: io::Error| StoreError::io("write", fresh, &error);
    fs::copy(copy, folder.database()).map_err(failed)?;
    let mut manifest = {
        let connection = connect::unchecked(&folder.database())?;
        let tail = LogTail::read(&connection).map_err(|error| StoreError::sqlite(copy, &error))?;
        let made = copy.metadata().and_then(|file| file.modified()).map_err(failed)?;
        BackupManifest {
            v: FORM,
            wf: migrate::last_program(&connection).unwrap_or_else(|| program::VERSION.into()),
            created: moment_of(made),
            events: tail.seq.unsigned_abs(),
            head: tail.hash,
            files: 0,
            bytes: copy.metadata().map_err(failed)?.len(),
            verified: true,
        }
    };
    for name in FOLDERS {
        let entries = WalkDir::new(dir.join(name)).into_iter().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_file()) {
            let below = entry.path().strip_prefix(dir).unwrap_or(entry.path());
            let to = fresh.join(below);
            fs::create_dir_all(to.parent().unwrap_or(fresh)).map_err(failed)?;
            fs::copy(entry.path(), to).map_err(failed)?;
            manifest.files += 1;
            manifest.bytes += entry.metadata().map_or(0, |file| file.len());
        }
    }
    Ok(manifest)
}

fn moment_of(time: SystemTime) -> Moment {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment::from_millis(integer(since.as_millis()))
}
