use std::path::Path;

use crate::log::audit_log::{AuditLog, FOLDER, LOG};
use crate::records::record::AuditEntry;
use crate::records::summary;
use crate::records::words::LOG_CREATED;
use crate::writer::desk::initial_body;
use crate::writer::fill::AuditBackfill;
use wf_store::StoreError;
use wf_store::feed::BusMessage;

/// The reader of events that is no auditor.
const NOBODY: u64 = 0;

/// Records an act outside of any run, for a command that has no engine and so no bus. Nothing is
/// written if there is no state.
pub fn record(state: &Path, message: &BusMessage) -> Result<(), StoreError> {
    if !state.exists() {
        return Ok(());
    }
    let failed = |error| StoreError::io("write the audit log in", state, &error);
    let mut log = AuditLog::open(state).map_err(failed)?;
    let begun = (log.ledger().n == 0).then(|| initial_body(state));
    let mut backfill = AuditBackfill::new(state.to_owned(), NOBODY);
    let written = log.add(|turn| {
        if let Some(begun) = begun.filter(|_| turn.ledger().n == 0) {
            turn.add(AuditEntry::new(message.at, LOG_CREATED).with_summary(&begun));
        }
        if let Some(at) = message.anchor() {
            // Processes without an auditor may have recorded events about goals before it.
            backfill.add_missing_events(turn, Some(at.seq), false);
        }
        turn.add(summary::of_message(message));
    });
    written.map_err(failed)
}

/// Adds the events of a state its audit log does not have yet, as the next auditor would. Nothing is written if there is no
/// audit log.
pub(super) fn catch_up(state: &Path) -> Result<(), StoreError> {
    if !state.join(FOLDER).join(LOG).exists() {
        return Ok(());
    }
    let failed = |error| StoreError::io("write the audit log in", state, &error);
    let mut backfill = AuditBackfill::new(state.to_owned(), NOBODY);
    let mut log = AuditLog::open(state).map_err(failed)?;
    log.add(|turn| backfill.add_missing_events(turn, None, false)).map_err(failed)
}
