//! The time in which nobody worked on a run that was gone on with later.

use std::time::Duration;

use super::{AttemptRow, Reader, RunRow, StoreError};
use crate::machine::Exit;
use crate::name::RunId;
use crate::time::Moment;

/// A time between two instants.
struct Gap {
    from: Moment,
    until: Moment,
}

impl Gap {
    /// Whether an attempt went on all through it.
    fn is_worked(&self, attempt: &AttemptRow) -> bool {
        let ended = attempt.ended.is_none_or(|ended| ended >= self.until);
        attempt.started <= self.from && ended && attempt.exit != Some(Exit::Interrupted)
    }

    /// How much of it lies in the life of a run.
    fn within(&self, row: &RunRow) -> Duration {
        let until = row.ended.map_or(self.until, |ended| ended.min(self.until));
        until.since(self.from.max(row.created))
    }
}

impl Reader {
    /// How long a run has been worked on, up to its end or the last that is recorded of it.
    pub fn worked(&self, run: &RunId) -> Result<Duration, StoreError> {
        let row = self.run(run)?;
        let last = match row.ended {
            Some(ended) => ended,
            None => self.last_event(run)?.unwrap_or(row.created),
        };
        Ok(row.took_until(last))
    }

    /// How long nobody worked on a run before somebody went on with it: after it was given back,
    /// or after the last that is recorded, if its engine died and no step outlived it.
    fn idle(&self, row: &RunRow) -> Result<Duration, StoreError> {
        let mut top = row.id.clone();
        let mut parent = row.parent.clone();
        while let Some((above, _)) = parent {
            parent = self.parent(&above)?;
            top = above;
        }
        let leases = self.owners(&top)?;
        let mut idle = Duration::ZERO;
        for (before, after) in leases.iter().zip(leases.iter().skip(1)) {
            let last = match before.released {
                Some(released) => Some(released),
                None => self.event_time(&top, after.first)?,
            };
            let gap = Gap {
                from: last.unwrap_or(after.since),
                until: after.since,
            };
            let outlived = before.released.is_none() && {
                let attempts = self.attempts(&top)?;
                attempts.iter().any(|attempt| gap.is_worked(attempt))
            };
            if !outlived {
                idle += gap.within(row);
            }
        }
        Ok(idle)
    }

    /// A run with the time in which nobody worked on it.
    pub(super) fn with_idle(&self, row: RunRow) -> Result<RunRow, StoreError> {
        let idle = self.idle(&row)?;
        let idle_ms = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
        Ok(RunRow { idle_ms, ..row })
    }

    /// The run that a run is nested in, and the attempt.
    fn parent(&self, run: &RunId) -> Result<Option<(RunId, String)>, StoreError> {
        let sql = "SELECT parent, parent_attempt FROM runs WHERE id = ?1 AND parent IS NOT NULL";
        self.one(sql, [run.as_str()], |row| {
            Ok((RunId::from_stored(row.get::<_, String>(0)?), row.get(1)?))
        })
    }

    /// When an event of a run happened.
    fn event_time(&self, run: &RunId, number: u64) -> Result<Option<Moment>, StoreError> {
        let sql = "SELECT at FROM events
                   WHERE run = (SELECT key FROM runs WHERE id = ?1) AND n = ?2";
        let values = (run.as_str(), number.cast_signed());
        let at: Option<Option<String>> = self.one(sql, values, |row| row.get(0))?;
        Ok(at.flatten().and_then(|at| Moment::parse(&at).ok()))
    }

    /// When the last event of a run happened.
    fn last_event(&self, run: &RunId) -> Result<Option<Moment>, StoreError> {
        let sql = "SELECT max(n) FROM events WHERE run = (SELECT key FROM runs WHERE id = ?1)";
        let last: Option<Option<i64>> = self.one(sql, [run.as_str()], |row| row.get(0))?;
        match last.flatten() {
            Some(number) => self.event_time(run, number.unsigned_abs()),
            None => Ok(None),
        }
    }
}
