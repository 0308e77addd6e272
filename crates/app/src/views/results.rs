//! The goals of a workspace with their last results side by side.

use serde::Serialize;
use serde_json::Value;

use super::{
    StateReader,
    calendar::slot_word,
    goals::{AutonomyUse, GoalListing, decisive_run, goal_listings_of},
    notices, state_reader,
};
use crate::{Caller, CommandError};
use wf_base::{name::RunId, time::Moment, units::moment};
use wf_report::draw::{StripCell, state_strip};
use wf_store::StoreReader;

/// The results of a goal that are drawn.
const DRAWN_RESULTS: usize = 30;

/// The goals of a workspace.
#[derive(Debug, Serialize)]
pub struct GoalsView {
    pub goals: Vec<GoalSummary>,
    /// The reason why nothing starts though goals are due; absent: they start.
    pub idle: Option<String>,
}

/// A goal in a list, with its last results.
#[derive(Debug, Serialize)]
pub struct GoalSummary {
    /// The goal, as `wf goal list --json` has it.
    pub goal: Value,
    /// Its last results as a picture; each leads to its run.
    pub strip: Option<String>,
    /// The use of its standing approval; absent: it has none.
    pub autonomy: Option<AutonomyUse>,
    /// The run that found that it is not kept; absent: it is.
    pub failed_run: Option<RunId>,
}

/// Returns the goals of a workspace.
pub fn goals_view(caller: &dyn Caller) -> Result<GoalsView, CommandError> {
    let reader = state_reader(caller)?;
    let store = reader.as_ref().map(StateReader::store);
    let listings = goal_listings_of(caller, store)?;
    let is_due = listings.iter().any(|listing| listing.next.is_some() && !listing.is_paused());
    let mut notices = if is_due { notices(caller, None, &[])? } else { Vec::new() };
    notices.retain(|notice| notice.subject == "daemon");
    let summary = |listing: &GoalListing| {
        Ok::<_, CommandError>(GoalSummary {
            goal: listing.json(),
            strip: store.map_or(Ok(None), |store| results_strip(listing, store))?,
            autonomy: listing.autonomy.clone(),
            failed_run: listing.failed_run(),
        })
    };
    let goals = listings.iter().map(summary).collect::<Result<_, _>>()?;
    Ok(GoalsView { goals, idle: notices.pop().map(|notice| notice.text) })
}

/// A result of a goal.
struct GoalResult {
    at: Moment,
    state: &'static str,
    /// The number of scheduled times that it stands for.
    count: u64,
    run: Option<RunId>,
}

impl GoalResult {
    fn cell(&self) -> StripCell {
        let count = if self.count > 1 { format!(" × {}", self.count) } else { String::new() };
        StripCell {
            state: self.state.to_owned(),
            words: format!("{} UTC: {}{count}", moment(self.at), self.state),
            link: self.run.as_ref().map(|run| format!("/runs/{run}")),
        }
    }
}

/// Draws the last results of a goal: of its slots, and of what people started.
fn results_strip(listing: &GoalListing, store: &StoreReader) -> Result<Option<String>, CommandError> {
    let Ok(goal) = &listing.file.goal else {
        return Ok(None);
    };
    let mut results = Vec::new();
    for slot in store.slots().latest(&goal.id, DRAWN_RESULTS)? {
        let known = listing.recent.iter().find(|cycle| Some(&cycle.run) == slot.run.as_ref()).cloned();
        let cycle = match (known, &slot.run) {
            (None, Some(run)) => store.reconciliations().find(run)?,
            (known, _) => known,
        };
        let health = cycle.as_ref().and_then(|cycle| Some(cycle.ended.as_ref()?.1));
        let run = cycle.as_ref().map_or(slot.run, |cycle| Some(decisive_run(cycle).clone()));
        results.push(GoalResult {
            at: slot.slot,
            state: slot_word(health, slot.state),
            count: slot.count,
            run,
        });
    }
    let manual = listing.recent.iter().filter(|cycle| cycle.slot.is_none());
    results.extend(manual.map(|cycle| GoalResult {
        at: cycle.started_at,
        state: cycle.ended.as_ref().map_or("started", |(_, health, _)| health.as_str()),
        count: 1,
        run: Some(decisive_run(cycle).clone()),
    }));
    results.sort_by_key(|result| result.at);
    let results = results.split_off(results.len().saturating_sub(DRAWN_RESULTS));
    let cells: Vec<StripCell> = results.iter().map(GoalResult::cell).collect();
    Ok(state_strip("The last results, oldest first", &cells))
}
