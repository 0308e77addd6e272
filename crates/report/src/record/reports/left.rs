use crate::record::record::RunRecord;
use wf_base::units::plural;
use wf_base::untrusted::untrusted;
use wf_core::machine::TaskId;
use wf_store::AttemptRow;

/// Returns the processes that a task left running, as a part of its line.
pub(super) fn left_text(record: &RunRecord, place: &TaskId) -> Option<String> {
    let own = |row: &&AttemptRow| row.step == place.step && row.item == place.item;
    let left = &record.attempts.iter().rev().find(own)?.left;
    let end = if left.detached { "they outlive the run" } else { "ended with the run" };
    let count = plural(left.left.len(), "process");
    (!left.left.is_empty()).then(|| format!("left {count} running: {}, {end}", untrusted(&left.commands())))
}
