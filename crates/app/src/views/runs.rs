use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::{
    StateReader,
    run_line::{RunLine, run_lines},
    state_reader,
};
use crate::{Caller, CommandError, usage_error};
use wf_base::{
    keyword::Keyword,
    name::{PlanId, RunId},
    time::{Moment, parse_duration},
};
use wf_core::machine::RunOutcome;
use wf_report::record::{RunLifecycle, RunListing, StepProgress};
use wf_store::{ChosenRuns, RunChoice, RunFilter, RunListOrder, RunRow, RunState, RunTrigger};

/// The runs of a page of the list.
const PAGE_RUNS: usize = 50;

/// The longest text of a search, in characters.
const MAX_TEXT: usize = 200;

/// A day, in which a date ends.
const DAY: Duration = Duration::from_hours(24);
/// The largest plan whose steps a list counts, in bytes: a larger one would take longer to read than all else of it.
const MAX_READ_BYTES: u64 = 2_000_000;

/// The runs from which the time of the next one is estimated, and the fewest that tell it.
const USUAL_RUNS: usize = 10;
const MIN_USUAL_RUNS: usize = 2;

/// A choice of runs, in the words of a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunQuery {
    /// The id of their plan; empty: every plan.
    pub plan: String,
    /// The words for their states; none: every state.
    pub states: Vec<String>,
    /// The word for their cause; empty: any but the checks of goals.
    pub trigger: String,
    /// A text in their id, plan, path, reason, failed step or parameters; empty: any.
    pub text: String,
    /// The beginning of the time in which they began: a date, an instant, or a time back; empty: any.
    pub since: String,
    /// Its end: a date, which is in it, an instant, or a time back; empty: any.
    pub until: String,
    /// The word for their order; empty: the latest first.
    pub sort: String,
    /// The number of the page, from 0.
    pub page: usize,
}

/// A page of runs.
#[derive(Debug, Default)]
pub struct RunPage {
    pub runs: Vec<RunLine>,
    /// True if there are more behind them.
    pub has_more: bool,
    /// The number of checks of goals, not listed beside them.
    pub hidden_checks: u64,
}

/// Returns a page of runs; none if the plan is none. A query with another word that means nothing is refused.
pub fn run_page(caller: &dyn Caller, query: &RunQuery) -> Result<RunPage, CommandError> {
    let now = caller.host().now();
    let states = read_states(&query.states)?;
    let Some(mut choice) = choice_of(query, &states, now)? else {
        return Ok(RunPage::default());
    };
    let Some(reader) = state_reader(caller)? else {
        return Ok(RunPage::default());
    };
    if choice.has_unended {
        choice.without = unended_in_other_states(&reader, &states)?;
    }
    let offset = query.page.saturating_mul(PAGE_RUNS);
    let ChosenRuns { rows, has_more } = choice.read(reader.store(), offset, PAGE_RUNS, now)?;
    let mut hidden_checks = 0;
    if choice.trigger == RunTrigger::Work && query.page == 0 {
        let mut checks = RunChoice { trigger: RunTrigger::Checks, ..choice.clone() };
        // On the last page, all that are older count, too.
        if let Some(last) = rows.last().filter(|_| has_more && choice.order == RunListOrder::Latest) {
            checks.since = Some(last.created);
        }
        hidden_checks = checks.count(reader.store())?;
    }
    let mut runs = run_listings(&reader, rows)?;
    add_progress(&reader, &mut runs, now)?;
    Ok(RunPage { runs: run_lines(&reader, &runs)?, has_more, hidden_checks })
}

/// Returns the ids of the plans of recorded runs.
pub fn recorded_plans(caller: &dyn Caller) -> Result<Vec<String>, CommandError> {
    let Some(reader) = state_reader(caller)? else {
        return Ok(Vec::new());
    };
    let mut plans: Vec<String> =
        reader.store().runs().latest_by_plan(1)?.into_iter().map(|row| row.plan).collect();
    plans.sort_unstable();
    Ok(plans)
}

/// Reads the words for states.
fn read_states(words: &[String]) -> Result<Vec<RunLifecycle>, CommandError> {
    let read = |word: &String| {
        RunLifecycle::from_word(word).ok_or_else(|| {
            let names: Vec<&str> = RunLifecycle::all().map(RunLifecycle::as_str).collect();
            usage_error(format!("`state` is one of {}", names.join(", ")))
        })
    };
    words.iter().map(read).collect()
}

/// Returns the choice of a query; `None` if no run can have its plan.
fn choice_of(
    query: &RunQuery,
    states: &[RunLifecycle],
    now: Moment,
) -> Result<Option<RunChoice>, CommandError> {
    let outcome = |life: &RunLifecycle| match life {
        RunLifecycle::Ended(outcome) => Some(*outcome),
        _ => None,
    };
    let outcomes: Vec<RunOutcome> = states.iter().filter_map(outcome).collect();
    let choice = RunChoice {
        plan: None,
        has_unended: outcomes.len() < states.len(),
        outcomes,
        without: Vec::new(),
        trigger: read_word(&query.trigger, "trigger")?,
        text: query.text.trim().chars().take(MAX_TEXT).collect(),
        since: read_instant(&query.since, "since", now)?.map(|read| read.first),
        until: read_instant(&query.until, "until", now)?.map(|read| read.end),
        order: read_word(&query.sort, "sort")?,
    };
    if query.plan.is_empty() {
        return Ok(Some(choice));
    }
    Ok(PlanId::parse(&query.plan).ok().map(|plan| RunChoice { plan: Some(plan), ..choice }))
}

/// Reads a word of a field; an empty one is the usual.
fn read_word<K: Keyword + Default>(word: &str, field: &str) -> Result<K, CommandError> {
    if word.is_empty() {
        return Ok(K::default());
    }
    K::from_word(word).ok_or_else(|| {
        let names: Vec<&str> = K::ALL.iter().map(|value| value.word()).collect();
        usage_error(format!("`{field}` is one of {}", names.join(", ")))
    })
}

/// The part of time that a text names: a date is a day, anything else an instant.
#[derive(Debug, PartialEq, Eq)]
struct ReadInstant {
    first: Moment,
    end: Moment,
}

/// Reads a date in UTC, an instant, or a time before now.
fn read_instant(text: &str, field: &str, now: Moment) -> Result<Option<ReadInstant>, CommandError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    if let Ok(first) = Moment::parse(&format!("{text}T00:00:00Z")) {
        return Ok(Some(ReadInstant { first, end: first.after(DAY) }));
    }
    let back = || {
        let time = i64::try_from(parse_duration(text).ok()?.as_millis()).ok()?;
        Some(Moment::from_millis(now.millis().saturating_sub(time)))
    };
    let at = Moment::parse(text).ok().or_else(back).ok_or_else(|| {
        usage_error(format!(
            "`{field}` is a date such as 2026-11-23, an instant such as 2026-11-23T09:30:00Z, or a time back such as 24h"
        ))
    })?;
    Ok(Some(ReadInstant { first: at, end: at }))
}

/// Returns the runs under way in other states.
fn unended_in_other_states(
    reader: &StateReader,
    states: &[RunLifecycle],
) -> Result<Vec<RunId>, CommandError> {
    let filter = RunFilter { state: Some(RunState::Running), ..RunFilter::default() };
    let unended = run_listings(reader, reader.store().runs().list(usize::MAX, &filter)?)?;
    let others = unended.into_iter().filter(|listing| !states.contains(&listing.life()));
    Ok(others.map(|listing| listing.row.id).collect())
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

/// Adds to runs that have not ended how far they have come, and how long they were worked on.
pub(crate) fn add_progress<'r>(
    reader: &StateReader,
    run_listings: impl IntoIterator<Item = &'r mut RunListing>,
    now: Moment,
) -> Result<(), CommandError> {
    let store = reader.store();
    for listing in run_listings {
        if matches!(listing.life(), RunLifecycle::Ended(_)) {
            continue;
        }
        let run = &listing.row.id;
        let is_read = store.sources().size(run)? <= MAX_READ_BYTES;
        let plan = if is_read { reader.plan(run)? } else { None };
        let counts = store.steps().counts(run)?;
        let done = counts.total();
        // A controller may have added steps to those of the plan.
        let total = plan.map(|plan| u32::try_from(plan.steps().len()).unwrap_or(u32::MAX).max(done));
        listing.so_far = listing.row.worked(now);
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

    use super::{ReadInstant, RunQuery, choice_of, median, read_instant, read_states};
    use wf_base::time::Moment;
    use wf_core::machine::RunOutcome;
    use wf_store::{RunListOrder, RunTrigger};

    #[test]
    fn a_median_is_the_one_in_the_middle_whatever_the_order() {
        let of = |seconds: &[u64]| median(seconds.iter().copied().map(Duration::from_secs));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[9, 1, 5]), Some(Duration::from_secs(5)));
        assert_eq!(of(&[9, 1, 5, 7]), Some(Duration::from_secs(7)));
    }

    #[test]
    fn a_time_is_a_date_an_instant_or_a_time_back() {
        let at = |text: &str| Moment::parse(text).unwrap();
        let now = at("2026-11-24T12:00:00Z");
        let read = |text: &str| read_instant(text, "since", now).map(Option::unwrap);
        let day = ReadInstant { first: at("2026-11-23T00:00:00Z"), end: at("2026-11-24T00:00:00Z") };
        assert_eq!(read(" 2026-11-23 ").unwrap(), day);
        let instant = |text: &str| ReadInstant { first: at(text), end: at(text) };
        assert_eq!(read("2026-11-23T09:30:00Z").unwrap(), instant("2026-11-23T09:30:00Z"));
        assert_eq!(read("1d12h").unwrap(), instant("2026-11-23T00:00:00Z"));
        for wrong in ["2026-13-01", "yesterday", "9", "99999999999999999d", "-1h"] {
            let refused = read(wrong).unwrap_err().message;
            assert!(refused.starts_with("`since` is a date"), "{wrong}: {refused}");
        }
        assert_eq!(read_instant("", "since", now).unwrap(), None);
    }

    #[test]
    fn the_words_of_a_query_choose_runs_or_are_refused() {
        let now = Moment::from_millis(0);
        let choice = |query: RunQuery| choice_of(&query, &read_states(&query.states)?, now);
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let all = choice(RunQuery::default()).unwrap().unwrap();
        assert_eq!(
            (all.trigger, all.order, all.has_unended),
            (RunTrigger::Work, RunListOrder::Latest, false)
        );
        let states = words(&["failed", "waiting"]);
        let query =
            RunQuery { states, sort: "-duration".into(), trigger: "goals".into(), ..RunQuery::default() };
        let some = choice(query).unwrap().unwrap();
        assert_eq!((some.outcomes, some.has_unended), (vec![RunOutcome::Failed], true));
        assert_eq!((some.trigger, some.order), (RunTrigger::Goals, RunListOrder::Longest));
        let none = choice(RunQuery { plan: "no plan!".into(), ..RunQuery::default() }).unwrap();
        assert_eq!(none, None, "nobody has written such a plan");
        for (query, field) in [
            (RunQuery { states: words(&["fine"]), ..RunQuery::default() }, "`state`"),
            (RunQuery { trigger: "x".into(), ..RunQuery::default() }, "`trigger`"),
            (RunQuery { sort: "cost".into(), ..RunQuery::default() }, "`sort`"),
            (RunQuery { until: "soon".into(), ..RunQuery::default() }, "`until`"),
        ] {
            assert!(choice(query).unwrap_err().message.starts_with(field), "{field}");
        }
    }
}
