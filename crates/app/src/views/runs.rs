use std::time::Duration;

use serde_json::Value;

use super::{StateReader, state_reader};
use crate::{Caller, CommandError};
use wf_base::{keyword::Keyword, name::PlanId, time::Moment};
use wf_core::machine::RunOutcome;
use wf_report::record::{RunLifecycle, write_lifecycle};
use wf_store::{RunFilter, RunOwner, RunRow, RunState, StoreReader};

/// The runs of a page of the list.
const PAGE_RUNS: usize = 50;

/// The runs from which the time of the next one is estimated, and the fewest that tell it.
const USUAL_RUNS: usize = 10;
const MIN_USUAL_RUNS: usize = 2;

/// A choice of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// The id of their plan; empty: every plan.
    pub plan: String,
    /// The word for their state; empty: every state.
    pub state: String,
    /// True if the checks of goals are listed, too.
    pub has_checks: bool,
    /// The number of the page, from 0.
    pub page: usize,
}

/// A page of runs.
#[derive(Debug, Default)]
pub struct RunPage {
    /// The runs, newest first, as `wf runs --json` has them.
    pub runs: Vec<Value>,
    /// True if there are older ones.
    pub has_more: bool,
    /// The number of checks of goals that began since the last of them, and are not listed.
    pub hidden_checks: u64,
}

/// Returns a page of runs, newest first; none if no run can be meant.
pub fn run_page(caller: &dyn Caller, query: &RunQuery) -> Result<RunPage, CommandError> {
    let (Some(reader), Some(filter)) = (state_reader(caller)?, filter_of(query)) else {
        return Ok(RunPage::default());
    };
    let before = query.page.saturating_mul(PAGE_RUNS);
    let end = before.saturating_add(PAGE_RUNS);
    let limit = if filter.state == Some(RunState::Running) { usize::MAX } else { end.saturating_add(1) };
    let mut rows = with_owners(reader.store(), reader.store().runs().list(limit, &filter)?)?;
    if filter.state == Some(RunState::Running) {
        rows.retain(|(row, owner)| RunLifecycle::of(row, *owner).as_str() == query.state);
    }
    let has_more = rows.len() > end;
    let rows: Vec<_> = rows.into_iter().skip(before).take(PAGE_RUNS).collect();
    // On the last page, all that are older count, too.
    let since = rows.last().filter(|_| has_more).map_or(Moment::from_millis(0), |(row, _)| row.created);
    let is_whole = query.has_checks || filter.state.is_some() || query.page > 0;
    let hidden_checks = if is_whole { 0 } else { reader.store().runs().count_checks(since, &filter)? };
    Ok(RunPage { runs: run_documents(&rows), has_more, hidden_checks })
}

/// Returns the time that runs of a plan take: the median of the last ones that succeeded; `None`: there are too few.
pub fn usual_duration(reader: &StateReader, plan: &PlanId) -> Result<Option<Duration>, CommandError> {
    let state = Some(RunState::Ended(RunOutcome::Succeeded));
    let filter = RunFilter { plan: Some(plan.clone()), state, ..RunFilter::default() };
    let rows = reader.store().runs().list(USUAL_RUNS, &filter)?;
    Ok(median_of_runs(&rows).filter(|_| rows.len() >= MIN_USUAL_RUNS))
}

/// Returns the median of the times that those of some runs took that succeeded.
pub(super) fn median_of_runs<'r>(rows: impl IntoIterator<Item = &'r RunRow>) -> Option<Duration> {
    let succeeded = |row: &&RunRow| row.state == RunState::Ended(RunOutcome::Succeeded);
    median(rows.into_iter().filter(succeeded).filter_map(RunRow::duration))
}

/// Returns the median of durations, the longer one of two in the middle; `None`: there are none.
pub(super) fn median(durations: impl Iterator<Item = Duration>) -> Option<Duration> {
    let mut durations: Vec<Duration> = durations.collect();
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied()
}

/// Returns the filter of the store; `None` if a word of the query is none.
fn filter_of(query: &RunQuery) -> Option<RunFilter> {
    let plan = if query.plan.is_empty() { None } else { Some(PlanId::parse(&query.plan).ok()?) };
    let state = match query.state.as_str() {
        "" => None,
        "running" | "waiting" | "interrupted" => Some(RunState::Running),
        word => Some(RunState::Ended(RunOutcome::from_word(word)?)),
    };
    Some(RunFilter { plan, state, no_checks: !query.has_checks, ..RunFilter::default() })
}

/// Pairs runs with the processes working on them.
pub(super) fn with_owners(
    reader: &StoreReader,
    runs: Vec<RunRow>,
) -> Result<Vec<(RunRow, Option<RunOwner>)>, CommandError> {
    let mut owned = Vec::with_capacity(runs.len());
    for row in runs {
        let owner = match row.state {
            RunState::Running => reader.leases().owner(&row.id)?,
            RunState::Ended(_) => None,
        };
        owned.push((row, owner));
    }
    Ok(owned)
}

/// Returns runs as documents: their rows, with the state in their life cycle.
pub fn run_documents(rows: &[(RunRow, Option<RunOwner>)]) -> Vec<Value> {
    let document = |(row, owner): &(RunRow, Option<RunOwner>)| {
        let mut value = serde_json::to_value(row).unwrap_or_default();
        let life = Value::from(RunLifecycle::of(row, *owner).as_str());
        write_lifecycle(&mut value, &life);
        if let Some(fields) = value.as_object_mut() {
            fields.insert("life".into(), life);
        }
        value
    };
    rows.iter().map(document).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::median;

    #[test]
    fn a_median_is_the_one_in_the_middle_whatever_the_order() {
        let of = |seconds: &[u64]| median(seconds.iter().copied().map(Duration::from_secs));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[9, 1, 5]), Some(Duration::from_secs(5)));
        assert_eq!(of(&[9, 1, 5, 7]), Some(Duration::from_secs(7)));
    }
}
