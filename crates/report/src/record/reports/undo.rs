//! The line about the undo of a run.

use crate::record::record::RunRecord;
use wf_base::time::Moment;
use wf_base::units::moment;
use wf_core::machine::RunOutcome;
use wf_core::undo::UndoRefusal;

/// Returns the runs that undo a run, and until when it can be undone.
pub(super) fn undo_text(record: &RunRecord, now: Moment) -> String {
    let Some(offer) = &record.run.undo else {
        return String::new();
    };
    let undone_by = record.undone_by.iter().map(|undo| {
        let state = undo.outcome.map_or("not finished", RunOutcome::as_str);
        format!("run {} ({state})", undo.run.short())
    });
    let until = format!("until {}", moment(offer.until));
    let offered = match offer.decide(&record.undone_by, now) {
        Ok(()) => Some(format!("{until}: wf undo {}", record.run.id.short())),
        Err(UndoRefusal::Late(_)) => Some(format!("was possible {until}")),
        Err(_) => None,
    };
    undone_by.chain(offered).collect::<Vec<_>>().join(" · ")
}
