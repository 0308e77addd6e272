//! The log of a run: what is not stored yet, and the pages that are.

use super::RunDriver;
use crate::order::{LogPage, LogRef, Parcel, RunFile, RunNews, UnstoredLog};
use crate::progress::DriverError;

impl RunDriver {
    /// Returns what whoever follows the run needs to know.
    pub fn news(&self) -> Result<RunNews, DriverError> {
        let rest = Parcel::pack_now(&self.rest, &self.objects)?;
        let waits = self.locks.waits();
        Ok(RunNews { log: self.log, rest, tree: self.tree, outcome: self.machine.outcome(), waits })
    }

    /// Stores the rest of the log as a page.
    pub(super) fn seal(&mut self) -> Result<(), DriverError> {
        if self.rest.events.is_empty() && self.rest.files.is_empty() {
            return Ok(());
        }
        let UnstoredLog { events, files } = std::mem::take(&mut self.rest);
        let count = self.log.count + events.len() as u64;
        let page = LogPage { before: self.log, events, files };
        self.log = LogRef { last: Some(self.objects.put_json_now(&page)?), count };
        Ok(())
    }

    pub(super) fn note_files(&mut self, files: Vec<RunFile>) {
        for file in files {
            self.rest.files.retain(|known| known.path != file.path);
            self.rest.files.push(file);
        }
    }
}
