//! The list of plans, each with its last runs.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;
use serde_json::Value;

use super::{
    super::{StateReader, add_progress, run_listings, runs::median_of_runs, state_reader},
    bars::{RunBar, bars_svg},
};
use crate::{
    Caller, CommandError,
    specs::plans::{AddressedPlan, list_specs, plan_files},
};
use wf_base::time::Moment;
use wf_core::machine::RunOutcome;
use wf_report::record::RunListing;

/// The runs of a plan that are drawn.
pub(super) const DRAWN_RUNS: usize = 20;

/// The time whose runs a success rate counts.
const RATE_TIME: Duration = Duration::from_hours(24 * 30);

/// A plan in a list.
#[derive(Clone, Debug, Serialize)]
pub struct PlanListing {
    /// The part of an address that names it.
    pub address: String,
    /// Its path, relative to the workspace.
    pub path: String,
    pub id: Option<String>,
    pub title: Option<String>,
    /// The first problem of its file; `None`: it can be run.
    pub problem: Option<String>,
    /// Its last run, as `wf runs --json` has it.
    pub last_run: Option<Value>,
    /// Its last runs as a picture.
    pub bars: Option<String>,
    /// The share of its runs in the last 30 days that succeeded, in percent; `None`: none ended.
    pub success_percent: Option<u64>,
    /// The number of its runs that ended in the last 30 days.
    pub ended_runs: u64,
    /// The median duration of those drawn that succeeded.
    pub median_ms: Option<u64>,
}

/// Lists the plans of a workspace, by path.
pub fn plan_listings(caller: &dyn Caller) -> Result<Vec<PlanListing>, CommandError> {
    let files = plan_files(&list_specs(&caller.host().workspace()));
    let history = match state_reader(caller)? {
        Some(reader) => PlanHistory::read(&reader, caller.host().now())?,
        None => PlanHistory::default(),
    };
    let now = caller.host().now();
    Ok(files.into_iter().map(|file| history.listing(file, now)).collect())
}

/// The last runs of all plans, and the outcomes of the last 30 days.
#[derive(Default)]
pub(super) struct PlanHistory {
    /// The runs of each plan, newest first.
    runs: BTreeMap<String, Vec<RunListing>>,
    /// The number of runs of each plan that succeeded, and of those that ended otherwise.
    outcomes: BTreeMap<String, OutcomeCount>,
}

/// The outcomes of the runs of a plan.
#[derive(Clone, Copy, Default)]
struct OutcomeCount {
    succeeded: u64,
    ended: u64,
}

impl PlanHistory {
    pub(super) fn read(reader: &StateReader, now: Moment) -> Result<Self, CommandError> {
        let mut history = Self::default();
        let mut latest = run_listings(reader, reader.store().runs().latest_by_plan(DRAWN_RUNS)?)?;
        add_progress(reader, &mut latest, now)?;
        for listing in latest {
            history.runs.entry(listing.row.plan.clone()).or_default().push(listing);
        }
        let rate_time = i64::try_from(RATE_TIME.as_millis()).unwrap_or(i64::MAX);
        let since = Moment::from_millis(now.millis().saturating_sub(rate_time));
        for counted in reader.store().runs().outcomes_by_plan(since)? {
            let outcome_count = history.outcomes.entry(counted.plan).or_default();
            match counted.outcome {
                RunOutcome::Succeeded => outcome_count.succeeded += counted.count,
                // Whoever cancels a run says nothing about its plan.
                RunOutcome::Cancelled => continue,
                _ => {}
            }
            outcome_count.ended += counted.count;
        }
        Ok(history)
    }

    /// Returns a plan with its runs.
    pub(super) fn listing(&self, file: AddressedPlan, now: Moment) -> PlanListing {
        let AddressedPlan { summary, address } = file;
        let id = summary.id.clone().unwrap_or_default();
        let runs = self.runs.get(&id).map(Vec::as_slice).unwrap_or_default();
        let outcome_count = self.outcomes.get(&id).copied().unwrap_or_default();
        let run_bars: Vec<RunBar> = runs.iter().rev().map(|listing| run_bar(listing, now)).collect();
        let percent = |count: OutcomeCount| (count.succeeded * 100).checked_div(count.ended);
        PlanListing {
            address,
            path: summary.path,
            id: summary.id,
            title: summary.title,
            problem: summary.first_error,
            last_run: runs.first().map(RunListing::document),
            bars: bars_svg(&run_bars),
            success_percent: percent(outcome_count),
            ended_runs: outcome_count.ended,
            median_ms: median_of_runs(runs.iter().map(|listing| &listing.row))
                .and_then(|median| u64::try_from(median.as_millis()).ok()),
        }
    }

    /// Returns the last runs of a plan, newest first.
    pub(super) fn runs(&self, plan: &str) -> &[RunListing] {
        self.runs.get(plan).map(Vec::as_slice).unwrap_or_default()
    }
}

fn run_bar(listing: &RunListing, now: Moment) -> RunBar {
    let row = &listing.row;
    RunBar { state: listing.life().as_str(), duration: row.worked(now).unwrap_or_default() }
}
