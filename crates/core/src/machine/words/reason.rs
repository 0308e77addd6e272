//! The limit of a recorded reason.

/// The maximum length of stored evidence and reasons, in characters.
pub const REASON_LIMIT: usize = 1000;

/// Truncates a reason to the stored length.
pub(in crate::machine) fn truncate_reason(reason: String) -> String {
    match reason.char_indices().nth(REASON_LIMIT) {
        Some((at, _)) => reason.get(..at).unwrap_or_default().to_owned(),
        None => reason,
    }
}
