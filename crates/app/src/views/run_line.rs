//! A run as a line of a page: its document, and besides what a person tells it from others by, as a title and what it cost.
//!
//! Tables of a terminal and the interface for programs have the document alone: each of the others takes a look at a recorded
//! plan or at other runs.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;
use serde_json::Value;

use super::{StateReader, plans::run_cost, run::failure_line, runs::usual_duration};
use crate::CommandError;
use wf_base::name::PlanId;
use wf_report::record::{RunLifecycle, RunListing, StepProgress};

/// The largest texts of a plan that are read for its title, in bytes.
const MAX_READ_BYTES: u64 = 100_000;

/// A run as a line of a page shows it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunLine {
    /// The run, as `wf runs --json` has it.
    #[serde(flatten)]
    pub run: Value,
    /// The title of its plan, unless that is its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its steps that ended well, of all; of a run under way, those that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<StepProgress>,
    /// The cost of its model calls and of those nested in it, in millionths of a US dollar; absent: none cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
    /// Its time as a share of what runs of its plan usually take, in percent; absent: it has none, or there are too few others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usual_percent: Option<u64>,
    /// The reason of its failure in the words of a check or its output; absent: it did not fail, or was not looked into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Returns runs as lines of a page.
pub(super) fn run_lines(
    reader: &StateReader,
    run_listings: &[RunListing],
) -> Result<Vec<RunLine>, CommandError> {
    let mut usual = BTreeMap::new();
    run_listings.iter().map(|listing| run_line(reader, listing, &mut usual)).collect()
}

/// Returns failed runs as lines of a page, each with its error.
pub(super) fn failure_lines(
    reader: &StateReader,
    run_listings: &[RunListing],
) -> Result<Vec<RunLine>, CommandError> {
    let mut lines = run_lines(reader, run_listings)?;
    for (line, listing) in lines.iter_mut().zip(run_listings) {
        line.error = failure_line(reader, &listing.row)?;
    }
    Ok(lines)
}

/// Returns a run as a line, and keeps the usual times of plans.
fn run_line(
    reader: &StateReader,
    listing: &RunListing,
    usual: &mut BTreeMap<String, Option<Duration>>,
) -> Result<RunLine, CommandError> {
    let (store, run) = (reader.store(), &listing.row.id);
    let is_small = store.sources().size(run)? <= MAX_READ_BYTES;
    let plan = if is_small { reader.plan(run)? } else { None };
    let title = plan
        .as_ref()
        .and_then(|plan| plan.parts().title.as_deref())
        .filter(|title| *title != listing.row.plan);
    let mut usual_percent = None;
    if !matches!(listing.life(), RunLifecycle::Waiting)
        && let Some(took) = listing.took()
        && let Some(usual) = usual_of(reader, &listing.row.plan, usual)?
    {
        usual_percent = u64::try_from(took.as_millis() * 100 / usual.as_millis().max(1)).ok();
    }
    let cost = run_cost(store, run)?;
    Ok(RunLine {
        run: listing.document(),
        title: title.map(str::to_owned),
        steps: steps_of(listing),
        cost_micro_usd: (!cost.is_zero()).then(|| cost.micros()),
        usual_percent,
        error: None,
    })
}

fn steps_of(listing: &RunListing) -> Option<StepProgress> {
    let counts = &listing.row.counts;
    if listing.row.ended.is_none() {
        return listing.progress;
    }
    let done = counts.verified + counts.plausible + counts.reported + counts.allowed_to_fail;
    (counts.total() > 0).then(|| StepProgress { done, total: Some(counts.total()) })
}

/// Returns the usual time of a plan, which is read once.
fn usual_of(
    reader: &StateReader,
    plan: &str,
    known: &mut BTreeMap<String, Option<Duration>>,
) -> Result<Option<Duration>, CommandError> {
    if let Some(usual) = known.get(plan) {
        return Ok(*usual);
    }
    let usual = match PlanId::parse(plan) {
        Ok(id) => usual_duration(reader, &id)?,
        Err(_) => None,
    };
    known.insert(plan.to_owned(), usual);
    Ok(usual)
}
