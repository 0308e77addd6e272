//! The time in which no process worked on a run that was resumed later.

use std::time::Duration;

use crate::{
    column::RowColumns,
    db::reader::StoreReader,
    error::StoreError,
    events::run_events::EventRange,
    views::{
        runs::RunTable,
        view::{AttemptRow, RunRow},
    },
};
use wf_base::{name::RunId, time::Moment};
use wf_core::machine::WorkExit;

/// The interval between two instants.
struct IdleInterval {
    from: Moment,
    until: Moment,
}

impl IdleInterval {
    /// True if an attempt was running all through it.
    fn is_worked(&self, attempt: &AttemptRow) -> bool {
        let ended = attempt.ended.is_none_or(|ended| ended >= self.until);
        attempt.started <= self.from && ended && attempt.exit != Some(WorkExit::Interrupted)
    }

    /// Returns the part of it lying in the life of a run.
    fn overlap_with_run(&self, row: &RunRow) -> Duration {
        let until = row.ended.map_or(self.until, |ended| ended.min(self.until));
        until.since(self.from.max(row.created))
    }
}

impl RunTable<&StoreReader> {
    /// Returns the time worked on a run, up to its end or the last recorded event.
    pub fn work_time(self, run: &RunId) -> Result<Duration, StoreError> {
        let row = self.get(run)?;
        let last = match row.ended {
            Some(ended) => ended,
            None => self.last_event(run)?.unwrap_or(row.created),
        };
        // A process that only waited for people recorded nothing, so some idle time may be later than the last event.
        let until_last = self.with_idle(RunRow { ended: Some(last), ..row })?;
        Ok(until_last.duration_until(last))
    }

    /// Returns the time in which no process worked on a run before it was resumed: since it was
    /// released, or since the last recorded event, if its engine died and no step outlived it.
    fn idle(self, row: &RunRow) -> Result<Duration, StoreError> {
        let mut top = row.id.clone();
        let mut parent = row.parent.clone();
        while let Some((above, _)) = parent {
            parent = self.parent(&above)?;
            top = above;
        }
        let leases = self.0.leases().of_run(&top)?;
        let mut idle = Duration::ZERO;
        for (before, after) in leases.iter().zip(leases.iter().skip(1)) {
            let last = match before.released {
                Some(released) => Some(released),
                None => self.event_time(&top, after.first_event)?,
            };
            let gap = IdleInterval { from: last.unwrap_or(after.acquired_at), until: after.acquired_at };
            let outlived = before.released.is_none() && {
                let attempts = self.0.attempts().of_run(&top)?;
                attempts.iter().any(|attempt| gap.is_worked(attempt))
            };
            if !outlived {
                idle += gap.overlap_with_run(row);
            }
        }
        Ok(idle)
    }

    /// Adds the idle time to a run.
    pub(super) fn with_idle(self, row: RunRow) -> Result<RunRow, StoreError> {
        let idle = self.idle(&row)?;
        let idle_ms = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
        Ok(RunRow { idle_ms, ..row })
    }

    /// Returns the run a run is nested in, and the attempt.
    fn parent(self, run: &RunId) -> Result<Option<(RunId, String)>, StoreError> {
        let sql = "SELECT parent, parent_attempt FROM runs WHERE id = ?1 AND parent IS NOT NULL";
        self.0.query_one(sql, [run.as_str()], |row| Ok((row.run(0)?, row.get(1)?)))
    }

    fn event_time(self, run: &RunId, number: u64) -> Result<Option<Moment>, StoreError> {
        let range = EventRange::one(number.cast_signed());
        let at: Vec<String> = self.0.events().read(run, range, |row| row.get("at"))?;
        Ok(at.first().and_then(|at| Moment::parse(at).ok()))
    }

    fn last_event(self, run: &RunId) -> Result<Option<Moment>, StoreError> {
        let sql = "SELECT max(run_seq) FROM events WHERE run = (SELECT key FROM runs WHERE id = ?1)";
        let last: Option<Option<i64>> = self.0.query_one(sql, [run.as_str()], |row| row.get(0))?;
        match last.flatten() {
            Some(number) => self.event_time(run, number.unsigned_abs()),
            None => Ok(None),
        }
    }
}
