use std::time::Duration;

use serde_json::Value;

use super::{StateReader, state_reader};
use crate::{Caller, CommandError};
use wf_base::{name::PlanId, time::Moment};
use wf_core::machine::RunOutcome;
use wf_report::record::{RunLifecycle, RunListing, StepProgress};
use wf_store::{RunFilter, RunRow, RunState};

/// The runs of a page of the list.
const PAGE_RUNS: usize = 50;

/// The largest plan whose steps a list counts, in bytes: a larger one would take longer to read than all else of it.
const MAX_READ_BYTES: u64 = 2_000_000;

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
    let mut runs = run_listings(&reader, reader.store().runs().list(limit, &filter)?)?;
    if filter.state == Some(RunState::Running) {
        runs.retain(|listing| listing.life().as_str() == query.state);
    }
    let has_more = runs.len() > end;
    let mut runs: Vec<_> = runs.into_iter().skip(before).take(PAGE_RUNS).collect();
    add_progress(&reader, &mut runs, caller.host().now())?;
    // On the last page, all that are older count, too.
    let since =
        runs.last().filter(|_| has_more).map_or(Moment::from_millis(0), |listing| listing.row.created);
    let is_whole = query.has_checks || filter.state.is_some() || query.page > 0;
    let hidden_checks = if is_whole { 0 } else { reader.store().runs().count_checks(since, &filter)? };
    Ok(RunPage { runs: run_documents(&runs), has_more, hidden_checks })
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
        word => Some(RunLifecycle::from_word(word)?.recorded()),
    };
    Some(RunFilter { plan, state, no_checks: !query.has_checks, ..RunFilter::default() })
}

/// Returns runs with the processes working on them.
pub(crate) fn run_listings(reader: &StateReader, rows: Vec<RunRow>) -> Result<Vec<RunListing>, CommandError> {
    rows.into_iter().map(|row| run_listing(reader, row)).collect()
}

/// Returns a run with the process working on it.
pub(crate) fn run_listing(reader: &StateReader, row: RunRow) -> Result<RunListing, CommandError> {
    let owner = match row.state {
        RunState::Running => reader.store().leases().owner(&row.id)?,
        RunState::Ended(_) => None,
    };
    Ok(RunListing::new(row, owner))
}

/// Adds to runs that have not ended how far they have come, and how long that has taken. Of a run that no process works on,
/// the time counts up to its last event.
pub(crate) fn add_progress<'r>(
    reader: &StateReader,
    run_listings: impl IntoIterator<Item = &'r mut RunListing>,
    now: Moment,
) -> Result<(), CommandError> {
    let store = reader.store();
    for listing in run_listings {
        let life = listing.life();
        if matches!(life, RunLifecycle::Ended(_)) {
            continue;
        }
        let run = &listing.row.id;
        let is_read = store.sources().size(run)? <= MAX_READ_BYTES;
        let plan = if is_read { reader.plan(run)? } else { None };
        let counts = store.steps().counts(run)?;
        let done = counts.total();
        // A controller may have added steps to those of the plan.
        let total = plan.map(|plan| u32::try_from(plan.steps().len()).unwrap_or(u32::MAX).max(done));
        listing.so_far = Some(match life {
            RunLifecycle::Interrupted => store.runs().work_time(run)?,
            _ => listing.row.duration_until(now),
        });
        listing.progress = Some(StepProgress { done, total });
        listing.row.counts = counts;
    }
    Ok(())
}

/// Returns runs as documents: their rows, with the state in their life cycle.
pub fn run_documents(run_listings: &[RunListing]) -> Vec<Value> {
    run_listings.iter().map(RunListing::document).collect()
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
