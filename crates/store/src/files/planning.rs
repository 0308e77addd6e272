use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    error::StoreError,
    files::{
        call_bodies::CallBodyStore,
        folder::{RunRetention, StateFolder, StoreDurability, create_in},
    },
};
use wf_base::time::Moment;
use wf_core::agent::authoring::{PlanningEntry, PlanningRecord};

/// The file of the entries of a request, in its folder.
const LOG: &str = "log.jsonl";

/// The folder of the requests to models and of their replies, in the folder of a request.
const CALLS: &str = "calls";

/// The age below which a request that has not ended stays: it may be under way.
const GRACE: Duration = Duration::from_hours(24);

/// The stored requests for plans, each in a folder whose name is its number.
#[derive(Clone, Debug)]
pub struct PlanningStore {
    dir: PathBuf,
}

/// The log of a request for a plan, open for appending. One process writes it.
#[derive(Debug)]
pub struct PlanningLog {
    /// The number of the request.
    pub number: u32,
    /// The store of what its models got and replied.
    pub bodies: CallBodyStore,
    path: PathBuf,
    file: File,
}

impl PlanningStore {
    /// Takes a state folder, which need not exist.
    pub fn new(state: &StateFolder) -> Self {
        Self { dir: state.planning() }
    }

    /// Creates the log of a new request, with the next number.
    pub fn create(&self) -> Result<PlanningLog, StoreError> {
        let failed = |path: &Path, error: std::io::Error| StoreError::io("create", path, &error);
        let workspace = self.dir.ancestors().nth(2).unwrap_or(&self.dir);
        create_in(workspace, &self.dir, 0o777).map_err(|error| failed(&self.dir, error))?;
        let next = self.numbers()?.last().map_or(1, |last| last.saturating_add(1));
        for number in next..=u32::MAX {
            let folder = self.folder(number);
            // The number is taken or not, in one step: several processes may ask for plans.
            match fs::create_dir(&folder) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                made => made.map_err(|error| failed(&folder, error))?,
            }
            let path = folder.join(LOG);
            let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
            let file = file.map_err(|error| failed(&path, error))?;
            return Ok(PlanningLog { number, bodies: self.bodies(number), path, file });
        }
        Err(failed(&self.dir, std::io::Error::other("no number is left")))
    }

    /// Returns the numbers of the requests, in order.
    pub fn numbers(&self) -> Result<Vec<u32>, StoreError> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| StoreError::io("read", &self.dir, &error))?,
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut numbers: Vec<u32> = names.filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Reads a request. `None` if there is none with this number, or it has no entry: its process died at once.
    pub fn read(&self, number: u32) -> Result<Option<PlanningRecord>, StoreError> {
        let path = self.folder(number).join(LOG);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| StoreError::io("read", &path, &error))?,
        };
        let mut entries = Vec::new();
        // A line without an end was being written when its process died.
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let entry: Result<PlanningEntry, _> = serde_json::from_str(line);
            entries.push(entry.map_err(|_| StoreError::Altered(path.clone()))?);
        }
        if entries.is_empty() {
            return Ok(None);
        }
        PlanningRecord::of(entries).map(Some).ok_or(StoreError::Altered(path))
    }

    /// Returns the store of what the models of a request got and replied.
    pub fn bodies(&self, number: u32) -> CallBodyStore {
        CallBodyStore::new(self.folder(number).join(CALLS), StoreDurability::Full)
    }

    /// Removes the requests beyond the retention of runs. One that cannot be removed, or read, is left.
    pub fn prune(&self, retention: RunRetention, now: Moment) -> Result<(), StoreError> {
        let numbers = self.numbers()?;
        let most = retention.max_runs.unwrap_or(usize::MAX);
        for (place, number) in numbers.iter().rev().enumerate() {
            let Ok(Some(record)) = self.read(*number) else { continue };
            let age = now.since(record.at);
            let is_beyond = place >= most || retention.max_age.is_some_and(|most| age > most);
            if is_beyond && (record.end.is_some() || age > GRACE) {
                drop(fs::remove_dir_all(self.folder(*number)));
            }
        }
        Ok(())
    }

    fn folder(&self, number: u32) -> PathBuf {
        self.dir.join(number.to_string())
    }
}

impl PlanningLog {
    /// Appends an entry; it is durable when this returns.
    pub fn append(&mut self, entry: &PlanningEntry) -> Result<(), StoreError> {
        let mut line = serde_json::to_string(entry).unwrap_or_default();
        line.push('\n');
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|error| StoreError::io("write", &self.path, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wf_core::agent::authoring::{PlanningBudget, PlanningFact, PlanningResult};

    fn at(hours: i64) -> Moment {
        Moment::from_millis(hours * 3_600_000)
    }

    fn requested(hours: i64, input: &str) -> PlanningEntry {
        let budget = PlanningBudget::default();
        let fact = PlanningFact::Requested { input: input.into(), revises: None, budget };
        PlanningEntry { at: at(hours), fact }
    }

    fn ended(hours: i64) -> PlanningEntry {
        let result = PlanningResult { is_accepted: true, intent: None, result: "printed".into() };
        PlanningEntry { at: at(hours), fact: PlanningFact::Ended(result) }
    }

    fn store(dir: &Path) -> PlanningStore {
        PlanningStore::new(&StateFolder::new(dir))
    }

    #[test]
    fn requests_are_numbered_and_read_without_a_torn_line() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        assert_eq!(store.numbers().unwrap(), [0_u32; 0]);
        let mut first = store.create().unwrap();
        let mut second = store.create().unwrap();
        assert_eq!((first.number, second.number), (1, 2));
        first.append(&requested(1, "one")).unwrap();
        second.append(&requested(2, "two")).unwrap();
        second.append(&ended(3)).unwrap();
        first.file.write_all(b"{\"at\":").unwrap();
        let read = store.read(1).unwrap().unwrap();
        assert_eq!((read.input.as_str(), read.end.is_none()), ("one", true));
        assert!(store.read(2).unwrap().unwrap().past_wish().is_some());
        assert_eq!(store.read(3).unwrap(), None);
        first.file.write_all(b"1}\n").unwrap();
        assert!(matches!(store.read(1), Err(StoreError::Altered(_))));
    }

    #[test]
    fn the_retention_of_runs_holds_and_what_may_be_under_way_stays() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        for (hour, is_ended) in [(0, true), (90, false), (95, true), (99, true)] {
            let mut log = store.create().unwrap();
            log.append(&requested(hour, "x")).unwrap();
            if is_ended {
                log.append(&ended(hour)).unwrap();
            }
        }
        let keep = |max_age, max_runs| RunRetention { max_age, max_runs, ..RunRetention::default() };
        store.prune(keep(None, None), at(100)).unwrap();
        assert_eq!(store.numbers().unwrap(), [1, 2, 3, 4]);
        store.prune(keep(Some(Duration::from_hours(50)), None), at(100)).unwrap();
        assert_eq!(store.numbers().unwrap(), [2, 3, 4]);
        store.prune(keep(None, Some(1)), at(100)).unwrap();
        assert_eq!(store.numbers().unwrap(), [2, 4]);
        store.prune(keep(None, Some(1)), at(130)).unwrap();
        assert_eq!(store.numbers().unwrap(), [4]);
        assert_eq!(store.create().unwrap().number, 5);
    }
}
