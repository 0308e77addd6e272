use super::{assigned, pem, tokens};
use crate::gate::guardrail::detector::DetectorMatch;

/// Finds secrets.
pub(in crate::gate::guardrail) fn search(text: &str, found: &mut Vec<DetectorMatch>) {
    pem::search(text, found);
    tokens::search(text, found);
    assigned::search(text, found);
}
