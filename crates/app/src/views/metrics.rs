use super::{GoalListing, StateReader, goals::goal_listings_of, state_reader};
use crate::{
    Caller, CommandError,
    daemon_io::health::{self, GoalHealth},
};
use wf_report::metrics::{Exposition, MetricsFormat, WorkspaceMetrics};
use wf_store::StoreReader;

/// The most rows of the log that are read at once.
const BATCH: usize = 2_000;

/// Counts what the log has more than the last time, and returns all metrics of the workspace.
pub fn metrics_text(
    caller: &dyn Caller,
    metrics: &mut WorkspaceMetrics,
    format: MetricsFormat,
) -> Result<String, CommandError> {
    let reader = state_reader(caller)?;
    let reader = reader.as_ref().map(StateReader::store);
    if let Some(reader) = reader {
        if reader.log().end()?.is_none_or(|end| end.seq < metrics.last()) {
            // Another state has been restored in its place.
            *metrics = WorkspaceMetrics::default();
        }
        loop {
            let rows = reader.log().rows(metrics.last(), BATCH)?;
            for row in &rows {
                metrics.add(row);
            }
            if rows.len() < BATCH {
                break;
            }
        }
    }
    let mut text = Exposition::new(format);
    metrics.write(&mut text);
    write_goals(caller, reader, &goal_listings_of(caller, reader)?, &mut text);
    Ok(text.end())
}

/// Writes the state of the goals.
fn write_goals(
    caller: &dyn Caller,
    reader: Option<&StoreReader>,
    goals: &[GoalListing],
    exposition: &mut Exposition,
) {
    let listed: Vec<_> =
        goals.iter().filter_map(|listing| Some((listing, listing.file.goal.as_ref().ok()?))).collect();
    let health: Vec<GoalHealth> = listed
        .iter()
        .map(|(listing, goal)| GoalHealth::of(caller, goal, reader, listing.next, listing.blocked.clone()))
        .collect();
    let by_id: Vec<_> =
        listed.iter().zip(&health).map(|((_, goal), health)| (goal.id.as_str(), health)).collect();
    health::write_goals(exposition, &by_id);
    exposition.gauge("wf_goal_paused", "1 if the goal is paused, otherwise 0.");
    for (listing, goal) in listed {
        let is_paused = listing.row.as_ref().is_some_and(|row| row.paused.is_some());
        exposition.sample("wf_goal_paused", &[("goal", goal.id.as_str())], u8::from(is_paused));
    }
}
