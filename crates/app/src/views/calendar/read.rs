//! The ledger of a goal, as far as its calendar needs it.

use serde::{Deserialize, Serialize};

use super::{
    days::{CalendarHour, CalendarMonth, CalendarPage, HourSlots},
    hours::LocalHour,
    month::MonthNumber,
    recent::{RecentDays, recent_days, recent_span},
    slots::LedgerSlot,
};
use crate::CommandError;
use wf_base::{name::PlanId, time::Moment};
use wf_model::Goal;
use wf_store::{SlotTally, StoreError, StoreReader};

/// The choice of a month, or of an hour and its month.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CalendarQuery {
    /// The month: `2026-11`; empty: the present one.
    pub month: String,
    /// The hour: `2026-11-28T08`; empty: none.
    pub hour: String,
}

impl CalendarQuery {
    /// True if each part is empty, or names a month or an hour.
    pub fn is_valid(&self) -> bool {
        (self.month.is_empty() || MonthNumber::parse(&self.month).is_some())
            && (self.hour.is_empty() || LocalHour::parse(&self.hour).is_some())
    }
}

/// The times of a goal.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct GoalTimes {
    pub recent: Option<RecentDays>,
    pub month: CalendarMonth,
    /// The hour that was chosen.
    pub hour: Option<HourSlots>,
}

/// Returns the times of a goal, as the ledger and its schedule have them.
pub(in crate::views) fn goal_times(
    goal: &Goal,
    query: &CalendarQuery,
    reader: Option<&StoreReader>,
    now: Moment,
) -> Result<GoalTimes, CommandError> {
    let ledger = SlotLedger { reader, goal: &goal.id };
    let recorded_since = ledger.first()?;
    let hour = CalendarHour::new(&goal.timing, &query.hour, now, recorded_since);
    let month = hour.as_ref().map_or_else(|| query.month.clone(), CalendarHour::month);
    let page = CalendarPage::new(&goal.timing, &month, now, recorded_since);
    let (from, until) = page.span();
    let tallies = ledger.tallies(from, until)?;
    let month = if page.is_dense(&tallies) {
        page.by_hour(&tallies)
    } else {
        page.by_day(&ledger.slots(from, until)?)
    };
    let (from, until) = recent_span(now);
    let recent = recent_days(&goal.timing, now, &ledger.tallies(from, until)?, recorded_since);
    let hour = hour.map(|hour| {
        let (from, until) = hour.span();
        Ok::<_, StoreError>(hour.slots(&ledger.slots(from, until)?))
    });
    Ok(GoalTimes { recent, month, hour: hour.transpose()? })
}

/// The ledger of a goal; without a state it is empty.
pub(super) struct SlotLedger<'r> {
    pub reader: Option<&'r StoreReader>,
    pub goal: &'r PlanId,
}

impl SlotLedger<'_> {
    pub fn first(&self) -> Result<Option<Moment>, StoreError> {
        self.reader.map_or(Ok(None), |reader| reader.slots().first(self.goal))
    }

    pub fn tallies(&self, from: Moment, until: Moment) -> Result<Vec<SlotTally>, StoreError> {
        self.reader.map_or_else(|| Ok(Vec::new()), |reader| reader.slots().tallies(self.goal, from, until))
    }

    /// Returns the entries between two instants, with the results of their reconciliations.
    fn slots(&self, from: Moment, until: Moment) -> Result<Vec<LedgerSlot>, StoreError> {
        let Some(reader) = self.reader else {
            return Ok(Vec::new());
        };
        let rows = reader.slots().between(self.goal, Some(from), Some(until))?;
        let result = |row: wf_store::SlotRow| {
            let cycle = row.run.as_ref().map(|run| reader.reconciliations().find(run)).transpose()?.flatten();
            let health = cycle.and_then(|cycle| Some(cycle.ended?.1));
            Ok(LedgerSlot { row, health })
        };
        rows.into_iter().map(result).collect()
    }
}
