use std::{collections::BTreeMap, path::PathBuf};

use crate::{
    log::audit_log::LockedAuditLog,
    records::{
        summary::{self, ROWS},
        words::DatabaseReadBody,
    },
};
use wf_base::name::RunId;
use wf_store::{LogRow, StoreError, StoreReader, allow_no_state};

/// A reader of the database, for events no auditor heard of on the bus.
pub(crate) struct AuditBackfill {
    state: PathBuf,
    reader: Option<StoreReader>,
    auditor: u64,
    paths: BTreeMap<RunId, Vec<String>>,
    open_error: Option<StoreError>,
}

impl AuditBackfill {
    /// `by` is the reading auditor: the number of the record by which it opened.
    pub(crate) fn new(state: PathBuf, by: u64) -> Self {
        Self { state, reader: None, auditor: by, paths: BTreeMap::new(), open_error: None }
    }

    /// Returns the reason why the database could not be read, if so; reported once.
    pub(super) fn trouble(&mut self) -> Option<String> {
        self.open_error.take().map(|error| error.to_string())
    }

    /// Adds the events missing from the log, up to one, or to the end.
    pub(super) fn add_missing_events(
        &mut self,
        log: &mut LockedAuditLog<'_>,
        before: Option<u64>,
        late: bool,
    ) {
        let wanted = before.is_none_or(|before| log.ledger().seq + 1 < before);
        if wanted && let Err(error) = self.read(log, before, late) {
            self.open_error = Some(error);
        }
    }

    fn read(
        &mut self,
        log: &mut LockedAuditLog<'_>,
        before: Option<u64>,
        late: bool,
    ) -> Result<(), StoreError> {
        loop {
            let reached = log.ledger().seq;
            let left = before.map_or(u64::MAX, |before| before.saturating_sub(reached + 1));
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(ROWS);
            if most == 0 {
                return Ok(());
            }
            let rows = match self.open()? {
                Some(reader) => reader.log().rows(reached, most)?,
                None => return Ok(()),
            };
            let more = rows.len() == most;
            for row in rows {
                let path = self.path(&row)?;
                let mut entry = summary::of_row(&row, log.ledger().at, path);
                let by = serde_json::to_value(DatabaseReadBody { by: self.auditor, late });
                if let Ok(serde_json::Value::Object(by)) = by {
                    entry.about.extend(by);
                }
                log.add(entry);
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Opens the reader, if possible. A failure is reported when it is needed.
    pub(super) fn open_reader(&mut self) {
        let _ = self.open();
    }

    /// Returns the reader; `None` if there is no state.
    fn open(&mut self) -> Result<Option<&StoreReader>, StoreError> {
        if self.reader.is_none() {
            self.reader = allow_no_state(StoreReader::open(&self.state))?;
        }
        Ok(self.reader.as_ref())
    }

    /// Returns the tasks above the run of a row.
    fn path(&mut self, row: &LogRow) -> Result<Vec<String>, StoreError> {
        let (Some(run), Some(parent)) = (&row.run, &row.parent) else {
            return Ok(Vec::new());
        };
        if let Some(path) = self.paths.get(run) {
            return Ok(path.clone());
        }
        let mut path = Vec::new();
        let mut above = Some(parent.clone());
        while let (Some((outer, attempt)), Some(reader)) = (above, &self.reader) {
            path.push(attempt.split('#').next().unwrap_or_default().to_owned());
            above = reader.runs().get(&outer)?.parent;
        }
        path.reverse();
        self.paths.insert(run.clone(), path.clone());
        Ok(path)
    }
}
