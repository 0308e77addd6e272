use serde_json::{Value, json};

use super::{
    StateReader,
    calendar::{CalendarQuery, GoalTimes, goal_times},
    goals::goal_listings_of,
    state_reader,
};
use crate::{
    Caller, CommandError,
    goals::{AutonomyStatus, GoalSource, find_path, load_by_name},
    specs::load::load_goal,
};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::goal::ReconciliationPart;
use wf_model::{OnUnmet, schedule::DstNote};
use wf_store::{ReconciliationRow, SlotRow, StoreReader};

/// The most entries of a page, and the most scheduled times to come.
const HISTORY: usize = 200;
const UPCOMING: usize = 20;

/// A scheduled time of a goal, or a reconciliation that a person started.
pub struct GoalHistoryEntry {
    pub at: Moment,
    /// The scheduled time; `None`: a person started it.
    pub slot: Option<SlotRow>,
    /// The reconciliation; `None`: there was none.
    pub row: Option<ReconciliationRow>,
    /// True if its second run is that of a job: it repaired nothing.
    pub is_job: bool,
}

/// Returns the latest entries of a goal by its id or its file, oldest first; `None`: there is no state yet.
pub fn goal_history(
    caller: &dyn Caller,
    name: &str,
    limit: usize,
) -> Result<Option<Vec<GoalHistoryEntry>>, CommandError> {
    let workspace = caller.host().workspace();
    let Some(reader) = StateReader::open_if_any(&workspace)? else {
        find_path(caller.host(), &workspace, &GoalSource::Disk, name)?;
        return Ok(None);
    };
    let reader = reader.store();
    let goal_id = reader.goals().all()?.into_iter().find(|row| row.id.as_str() == name).map(|row| row.id);
    let id = goal_id.map_or_else(|| load_by_name(caller, name).map(|(_, goal)| goal.id.clone()), Ok)?;
    recorded_history(reader, &id, limit).map(Some)
}

fn recorded_history(
    reader: &StoreReader,
    goal: &PlanId,
    limit: usize,
) -> Result<Vec<GoalHistoryEntry>, CommandError> {
    let mut entries: Vec<GoalHistoryEntry> = Vec::new();
    for slot in reader.slots().latest(goal, limit)? {
        let row = match &slot.run {
            Some(run) => reader.reconciliations().find(run)?,
            None => None,
        };
        entries.push(GoalHistoryEntry { at: slot.slot, slot: Some(slot), row, is_job: false });
    }
    let cycles = reader.reconciliations().latest(goal, limit)?.into_iter();
    let rows = cycles.filter(|cycle| cycle.slot.is_none());
    entries.extend(rows.map(|cycle| GoalHistoryEntry {
        at: cycle.started_at,
        slot: None,
        row: Some(cycle),
        is_job: false,
    }));
    entries.sort_by_key(|entry| entry.at);
    let mut entries = entries.split_off(entries.len().saturating_sub(limit));
    for entry in &mut entries {
        let second = entry.row.as_ref().and_then(|cycle| cycle.repair.as_ref());
        // Retention may have removed the run.
        let row = second.and_then(|run| reader.runs().get(run).ok());
        entry.is_job = row.is_some_and(|row| row.goal == Some(ReconciliationPart::Job));
    }
    Ok(entries)
}

impl GoalHistoryEntry {
    /// Returns the reasons for what happened.
    pub fn reason(&self) -> String {
        let slot = self.slot.as_ref().map_or("", |row| row.reason.as_str());
        let ended = self.row.as_ref().and_then(|cycle| cycle.ended.as_ref());
        let cycle = ended.map_or("", |(_, _, reason)| reason.as_str());
        [slot, cycle].into_iter().filter(|reason| !reason.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// Returns the entry as a document.
    pub fn json(&self) -> Value {
        let cycle = self.row.as_ref().map(|cycle| {
            let ended = cycle.ended.as_ref();
            json!({
                "run": cycle.run,
                "cause": cycle.cause,
                "began": cycle.started_at,
                (if self.is_job { "job" } else { "repair" }): cycle.repair,
                "ended": ended.map(|(at, _, _)| at),
                "health": ended.map(|(_, health, _)| health),
                "reason": ended.map(|(_, _, reason)| reason),
            })
        });
        match &self.slot {
            None => json!({"cycle": cycle}),
            Some(row) => json!({
                "slot": row.slot,
                "last": row.last,
                "count": row.count,
                "state": row.state,
                "cause": row.cause,
                "reason": row.reason,
                "at": row.at,
                "cycle": cycle,
            }),
        }
    }
}

/// A goal with its history.
#[derive(Debug, serde::Serialize)]
pub struct GoalView {
    /// The goal, as `wf goal list --json` has it.
    pub goal: Value,
    /// Its latest slots and reconciliations, newest first, as `wf goal history --json` has them.
    pub history: Vec<Value>,
    /// The next scheduled times, in UTC and in their zone.
    pub upcoming: Vec<UpcomingSlot>,
    /// Its last days, and a month of its slots; absent: its file is broken.
    pub times: Option<GoalTimes>,
    /// The run that found that it is not kept; absent: it is.
    pub failed_run: Option<RunId>,
    /// Its autonomy and the advice on that, as `wf goal autonomy --json` has them; absent: it repairs nothing, or needs no approval.
    pub autonomy: Option<Value>,
}

/// A scheduled time that is still to come.
#[derive(Debug, serde::Serialize)]
pub struct UpcomingSlot {
    pub at: Moment,
    /// The same in the zone of its rule.
    pub local: String,
    pub zone: String,
    /// The clock change it falls into.
    pub note: Option<DstNote>,
}

/// Returns a goal with its history and the slots of a month, by default of the present one; `None` if there is no such goal.
pub fn goal_view(
    caller: &dyn Caller,
    id: &str,
    query: &CalendarQuery,
) -> Result<Option<GoalView>, CommandError> {
    let reader = state_reader(caller)?;
    let reader = reader.as_ref().map(StateReader::store);
    let listings = goal_listings_of(caller, reader)?;
    let Some(listing) = listings.iter().find(|listing| listing.file.id.as_deref() == Some(id)) else {
        return Ok(None);
    };
    let (mut history, mut upcoming, mut times) = (Vec::new(), Vec::new(), None);
    if let Ok(goal) = &listing.file.goal {
        if let Some(reader) = reader {
            history = recorded_history(reader, &goal.id, HISTORY)?
                .iter()
                .rev()
                .map(GoalHistoryEntry::json)
                .collect();
        }
        let mut at = caller.host().now();
        times = Some(goal_times(goal, query, reader, at)?);
        while let Some(slot) = goal.timing.next(at).filter(|_| upcoming.len() < UPCOMING) {
            let zone = goal.timing.zone_of(&slot);
            at = slot.at;
            let local = zone.local(slot.at).to_string();
            upcoming.push(UpcomingSlot { at, local, zone: zone.name().to_owned(), note: slot.note });
        }
    }
    let autonomy = goal_autonomy(caller, reader, &listing.file.path);
    let failed_run = listing.failed_run();
    Ok(Some(GoalView { goal: listing.json(), history, upcoming, times, failed_run, autonomy }))
}

/// Returns what a goal may do unattended, as `wf goal autonomy --json` has it; `None` if its file or its approval cannot be
/// read, it repairs nothing, or its repairs need no approval.
fn goal_autonomy(caller: &dyn Caller, reader: Option<&StoreReader>, path: &str) -> Option<Value> {
    let workspace = caller.host().workspace();
    let files = GoalSource::Disk.files(&workspace);
    let loaded = load_goal(caller, &*files, workspace, path, ReconciliationPart::Look);
    let (ready, goal) = loaded.ok()?;
    if goal.on_failure != OnUnmet::SpawnPlan {
        return None;
    }
    let status = AutonomyStatus::of(caller, &ready, &goal, reader).ok()?;
    status.approval.as_ref()?;
    Some(status.json(caller))
}
