//! The home page: what waits for people, what is wrong, what runs, what a day looked like, and what comes next.

use std::{collections::BTreeSet, time::Duration};

use serde::Serialize;
use serde_json::Value;

use crate::{
    Caller, CommandError,
    views::{
        GoalListing, InboxView, StateReader, add_progress,
        goals::goal_listings_of,
        inbox_view,
        run_line::{RunLine, failure_lines, run_lines},
        run_listings, state_reader,
    },
};
use wf_base::{keyword::Keyword as _, name::PlanId, time::Moment};
use wf_core::{goal::ReconciliationHealth, machine::RunOutcome};
use wf_report::{
    draw::{StripColumn, day_strip},
    record::{RunLifecycle, RunListing},
};
use wf_store::{RunFilter, RunRow, RunState};

/// The latest runs of the page, and those among which a failure is looked for.
const LATEST_RUNS: usize = 8;
const SEARCHED_RUNS: usize = 300;

/// The time for which a failure is shown that no later run of its plan made good.
const FAILURE_TIME: Duration = Duration::from_hours(24 * 7);

/// The most failures, and the most times to come.
const MAX_ROWS: usize = 5;

/// The most runs of a day that are counted.
const MAX_DAY_RUNS: usize = 1_000;

/// The parts of a day, and the length of each in milliseconds.
const DAY_PARTS: i64 = 96;
const PART_MS: i64 = 15 * 60 * 1000;

/// The home page of a workspace.
#[derive(Debug, Serialize)]
pub struct HomeView {
    /// All that waits for people.
    #[serde(flatten)]
    pub inbox: InboxView,
    /// The last runs of their plans, which failed.
    pub failures: Vec<RunLine>,
    pub more_failures: usize,
    /// The goals that are broken, blocked, paused or not kept.
    pub troubled: Vec<Value>,
    pub running: Vec<RunProgress>,
    /// The latest runs that are part of no other, newest first.
    pub latest: Vec<RunLine>,
    pub day: Vec<DayStrip>,
    pub upcoming: Vec<UpcomingGoal>,
    pub goal_count: usize,
}

/// A run that a process works on, and how far it has come.
#[derive(Debug, Serialize)]
pub struct RunProgress {
    pub run: Value,
    /// The steps that have ended.
    pub done: usize,
    /// The steps of its plan.
    pub total: usize,
    /// The steps that run.
    pub steps: Vec<String>,
}

/// The runs of the last day as a picture.
#[derive(Debug, Serialize)]
pub struct DayStrip {
    pub label: &'static str,
    pub svg: String,
    /// The numbers of runs, and of those that failed.
    pub total: u64,
    pub failed: u64,
    /// True if only the latest runs of the day are counted.
    pub is_cut: bool,
}

/// The next time of a goal.
#[derive(Debug, Serialize)]
pub struct UpcomingGoal {
    pub id: PlanId,
    pub title: String,
    pub at: Moment,
}

/// Returns the home page of a workspace.
pub fn home_view(caller: &dyn Caller) -> Result<HomeView, CommandError> {
    let reader = state_reader(caller)?;
    let now = caller.host().now();
    let goals = goal_listings_of(caller, reader.as_ref().map(StateReader::store))?;
    let mut view = HomeView {
        inbox: inbox_view(caller, reader.as_ref())?,
        failures: Vec::new(),
        more_failures: 0,
        troubled: goals.iter().map(GoalListing::json).filter(is_troubled).collect(),
        running: Vec::new(),
        latest: Vec::new(),
        day: Vec::new(),
        upcoming: upcoming_goals(&goals),
        goal_count: goals.len(),
    };
    let Some(reader) = &reader else {
        return Ok(view);
    };
    let filter = RunFilter { no_checks: true, ..RunFilter::default() };
    let mut runs = run_listings(reader, reader.store().runs().list(SEARCHED_RUNS, &filter)?)?;
    let mut failures = unmended_failures(&runs, &view.troubled, now);
    view.more_failures = failures.len().saturating_sub(MAX_ROWS);
    failures.truncate(MAX_ROWS);
    view.failures = failure_lines(reader, &failures)?;
    runs.truncate(LATEST_RUNS);
    add_progress(reader, &mut runs, now)?;
    view.latest = run_lines(reader, &runs)?;
    let running = RunFilter { state: Some(RunState::Running), ..RunFilter::default() };
    let running = run_listings(reader, reader.store().runs().list(usize::MAX, &running)?)?.into_iter();
    view.running = running
        .filter(|listing| listing.life() == RunLifecycle::Running)
        .map(|listing| run_progress(reader, &listing))
        .collect::<Result<_, _>>()?;
    let since = Moment::from_millis((now.millis() / PART_MS + 1 - DAY_PARTS) * PART_MS);
    let of_day = RunFilter { since: Some(since), ..RunFilter::default() };
    view.day = day_strips(since, &run_listings(reader, reader.store().runs().list(MAX_DAY_RUNS, &of_day)?)?);
    Ok(view)
}

/// True if a goal is not kept, or may not be.
fn is_troubled(goal: &Value) -> bool {
    let health = goal["health"].as_str().map(ReconciliationHealth::from_word);
    let is_kept = health.is_none_or(|health| health.is_some_and(ReconciliationHealth::is_good));
    !is_kept || !goal["broken"].is_null() || !goal["paused"].is_null() || !goal["waits"].is_null()
}

/// Returns the failed runs after which no run of the same plan ended otherwise, newest first. That of a goal in trouble is
/// what the goal says itself.
fn unmended_failures(run_listings: &[RunListing], troubled: &[Value], now: Moment) -> Vec<RunListing> {
    let mut plans = BTreeSet::new();
    let runs = run_listings.iter();
    let last_of_plans = runs.filter(|one| one.row.ended.is_some() && plans.insert(&one.row.plan));
    let is_told = |row: &RunRow| row.goal.is_some() && troubled.iter().any(|goal| goal["id"] == row.plan);
    let failed = last_of_plans.filter(|listing| {
        let row = &listing.row;
        let is_failure = matches!(row.state, RunState::Ended(RunOutcome::Failed | RunOutcome::Abandoned));
        is_failure && !is_told(row) && row.ended.is_some_and(|ended| now.since(ended) <= FAILURE_TIME)
    });
    failed.cloned().collect()
}

/// Returns how far a run has come that a process works on.
fn run_progress(reader: &StateReader, listing: &RunListing) -> Result<RunProgress, CommandError> {
    let times = reader.store().steps().times(&listing.row.id)?;
    let total = reader.plan(&listing.row.id)?.map_or(times.len(), |plan| plan.steps().len());
    let under_way = times.iter().filter(|step| step.started.is_some() && step.ended.is_none());
    Ok(RunProgress {
        run: listing.document(),
        done: times.iter().filter(|step| step.ended.is_some()).count().min(total),
        total,
        steps: under_way.map(|step| step.step.to_string()).collect(),
    })
}

/// Returns a strip of the runs of people and jobs, and one of those of goals, as far as there are any.
fn day_strips(since: Moment, runs: &[RunListing]) -> Vec<DayStrip> {
    let strip = |label: &'static str, has_goal: bool| {
        let mut columns: Vec<(String, StripColumn)> =
            (0..DAY_PARTS).map(|part| (part_name(since, part), StripColumn::default())).collect();
        let (mut total, mut failed) = (0, 0);
        for listing in runs.iter().filter(|listing| listing.row.goal.is_some() == has_goal) {
            let part = (listing.row.created.millis() - since.millis()) / PART_MS;
            let Some((_, column)) = usize::try_from(part).ok().and_then(|part| columns.get_mut(part)) else {
                continue;
            };
            total += 1;
            match listing.life() {
                RunLifecycle::Ended(RunOutcome::Succeeded) => column.succeeded += 1,
                RunLifecycle::Ended(RunOutcome::Failed) => {
                    column.failed += 1;
                    failed += 1;
                }
                RunLifecycle::Ended(_) => column.cancelled += 1,
                RunLifecycle::Running => column.running += 1,
                RunLifecycle::Waiting => column.waiting += 1,
                RunLifecycle::Interrupted => column.interrupted += 1,
            }
        }
        Some(DayStrip {
            label,
            svg: day_strip(label, &columns)?,
            total,
            failed,
            is_cut: runs.len() == MAX_DAY_RUNS,
        })
    };
    [strip("Runs of people and jobs", false), strip("Runs of goals", true)].into_iter().flatten().collect()
}

/// Returns the name of a part of a day: when it begins, in UTC.
fn part_name(since: Moment, part: i64) -> String {
    let at = Moment::from_millis(since.millis() + part * PART_MS);
    format!("{} UTC", wf_base::units::moment(at))
}

/// Returns the goals that are due next.
fn upcoming_goals(goals: &[GoalListing]) -> Vec<UpcomingGoal> {
    let upcoming = goals.iter().filter_map(|listing| {
        let goal = listing.file.goal.as_ref().ok()?;
        let is_paused = listing.row.as_ref().is_some_and(|row| row.paused.is_some());
        let at = listing.next.filter(|_| !is_paused && listing.blocked.is_none())?;
        Some(UpcomingGoal { id: goal.id.clone(), title: goal.title.clone().unwrap_or_default(), at })
    });
    let mut upcoming: Vec<UpcomingGoal> = upcoming.collect();
    upcoming.sort_by(|one, other| one.at.cmp(&other.at).then_with(|| one.id.cmp(&other.id)));
    upcoming.truncate(MAX_ROWS);
    upcoming
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_troubled;

    #[test]
    fn a_goal_is_in_trouble_unless_it_ended_well() {
        let health = |word: Option<&str>| is_troubled(&json!({"health": word}));
        for word in [None, Some("healthy"), Some("repaired"), Some("reported")] {
            assert!(!health(word), "{word:?}");
        }
        for word in ["failed", "waiting", "unknown", "cancelled", "a word of a later version"] {
            assert!(health(Some(word)), "{word}");
        }
        assert!(is_troubled(&json!({"health": "healthy", "paused": {"reason": "rain"}})));
    }
}
