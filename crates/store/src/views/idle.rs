//! The time in which a process worked on a run: from its leases and its record.
//!
//! A process has a run from the moment when it took it until it released it. One that died released nothing: what is known is its
//! last sign of life, the latest time in the record of the run or of one nested in it. Where work outlived it, up to the next
//! process, the time between counts. Whoever reads how long a run took reads it from the row, which has the sum of the times
//! without a process, and the end of the last one with one.

use std::time::Duration;

use crate::{
    column::{MomentColumn, RowColumns},
    db::reader::StoreReader,
    error::StoreError,
    events::run_events::EventRange,
    lease::run_lease::RunLease,
    views::{
        runs::RunTable,
        view::{AttemptRow, RunRow, WorkEnd},
        waits::is_at_work,
    },
};
use wf_base::{name::RunId, time::Moment};
use wf_core::machine::WorkExit;

/// The latest time before an instant in the tables of a run.
const LAST_TIME: &str = "WITH own (key) AS (SELECT key FROM runs WHERE id = ?1)
    SELECT max(at) FROM (
        SELECT created AS at FROM runs WHERE id = ?1 UNION ALL SELECT ended FROM runs WHERE id = ?1
        UNION ALL SELECT started FROM attempts WHERE run = (SELECT key FROM own)
        UNION ALL SELECT ended FROM attempts WHERE run = (SELECT key FROM own)
        UNION ALL SELECT at FROM checks WHERE run = (SELECT key FROM own)
        UNION ALL SELECT ended FROM steps WHERE run = (SELECT key FROM own))
    WHERE at <= ?2";

/// The interval between two instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleInterval {
    pub from: Moment,
    pub until: Moment,
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
    /// Returns the time worked on a run as far as it is known.
    pub fn work_time(self, run: &RunId) -> Result<Duration, StoreError> {
        let row = self.get(run)?;
        // The time of one that goes on is counted by whoever follows it.
        let end = match row.work_end {
            WorkEnd::Open => self.last_event(run)?.unwrap_or(row.created),
            end => end.known(row.created),
        };
        Ok(row.duration_until(end))
    }

    /// Returns the intervals in which no process had a run before it was resumed.
    pub fn idle_intervals(self, run: &RunId) -> Result<Vec<IdleInterval>, StoreError> {
        let top = self.outermost(run)?;
        let leases = self.0.leases().of_run(&top)?;
        let mut intervals = Vec::new();
        for (before, after) in leases.iter().zip(leases.iter().skip(1)) {
            let from = match before.released_by_owner() {
                Some(released) => released,
                None => self.last_sign_before(&top, after)?.max(before.acquired_at),
            };
            let interval = IdleInterval { from, until: after.acquired_at };
            // Work may outlive the process that began it.
            let outlived = before.released_by_owner().is_none()
                && self.0.attempts().of_run(&top)?.iter().any(|attempt| interval.is_worked(attempt));
            if !outlived {
                intervals.push(interval);
            }
        }
        Ok(intervals)
    }

    /// Adds the time worked on a run to its row.
    pub(super) fn with_work(self, row: RunRow) -> Result<RunRow, StoreError> {
        let intervals = self.idle_intervals(&row.id)?;
        let idle: Duration = intervals.iter().map(|interval| interval.overlap_with_run(&row)).sum();
        let idle_ms = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
        let work_end = self.work_end(&row)?;
        Ok(RunRow { idle_ms, work_end, ..row })
    }

    fn work_end(self, row: &RunRow) -> Result<WorkEnd, StoreError> {
        if let Some(ended) = row.ended {
            return Ok(WorkEnd::At(ended));
        }
        let top = self.outermost(&row.id)?;
        let lease = self.0.leases().of_run(&top)?.pop();
        if let Some(released) = lease.as_ref().and_then(RunLease::released_by_owner) {
            return Ok(WorkEnd::At(released.max(row.created)));
        }
        Ok(match lease {
            Some(lease) if !lease.may_be_taken => WorkEnd::Open,
            // One that only waited did nothing after its last sign of life.
            Some(_) if !is_at_work(self.0, &row.id)? => WorkEnd::At(self.last_sign(&row.id)?),
            Some(_) => WorkEnd::UnknownAfter(self.last_sign(&row.id)?),
            None => WorkEnd::At(self.last_sign(&row.id)?),
        })
    }

    /// Returns the time of the last event of a run and of those nested in it.
    fn last_sign(self, run: &RunId) -> Result<Moment, StoreError> {
        let mut last = self.last_event(run)?.unwrap_or(Moment::from_millis(0));
        for (child, _) in self.children(run)? {
            last = last.max(self.last_sign(&child)?);
        }
        Ok(last)
    }

    /// Returns the last time in the record of a run, and of those nested in it, before another process took it.
    fn last_sign_before(self, run: &RunId, lease: &RunLease) -> Result<Moment, StoreError> {
        let event = self.event_time(run, lease.first_event)?.unwrap_or(Moment::from_millis(0));
        Ok(event.max(self.last_time_before(run, lease.acquired_at)?))
    }

    fn last_time_before(self, run: &RunId, before: Moment) -> Result<Moment, StoreError> {
        let at: Option<Option<Moment>> =
            self.0.query_one(LAST_TIME, (run.as_str(), MomentColumn(before)), |row| row.moment_if(0))?;
        let mut last = at.flatten().unwrap_or(Moment::from_millis(0));
        for (child, _) in self.children(run)? {
            last = last.max(self.last_time_before(&child, before)?);
        }
        Ok(last)
    }

    /// Returns the outermost run that a run is nested in: itself, if it is in none.
    fn outermost(self, run: &RunId) -> Result<RunId, StoreError> {
        self.0.query(|connection| crate::lease::run_lease::root(connection, run.as_str()))
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
