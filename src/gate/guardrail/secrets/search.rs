use super::{assigned, pem, tokens};
use crate::gate::guardrail::detector::Found;

/// Finds secrets.
pub(in crate::gate::guardrail) fn search(text: &str, found: &mut Vec<Found>) {
    pem::search(text, found);
    tokens::search(text, found);
    assigned::search(text, found);
}
