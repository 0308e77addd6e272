use std::path::Path;

use super::desk::begun;
use super::log::Log;
use super::record::Entry;
use super::summary;
use super::words::BEGUN;
use crate::bus::Message;
use crate::store::StoreError;

/// Writes down what was done outside of any run, by a command that has no engine and so no bus.
/// Nothing is written where there is no state.
pub fn record(state: &Path, message: &Message) -> Result<(), StoreError> {
    if !state.exists() {
        return Ok(());
    }
    let failed = |error| StoreError::io("write the audit log in", state, &error);
    let mut log = Log::open(state).map_err(failed)?;
    let begun = (log.ledger().n == 0).then(|| begun(state));
    let written = log.add(|turn| {
        if let Some(begun) = begun.filter(|_| turn.ledger().n == 0) {
            turn.add(Entry::new(message.at, BEGUN).about(&begun));
        }
        turn.add(summary::of_message(message));
    });
    written.map_err(failed)
}
