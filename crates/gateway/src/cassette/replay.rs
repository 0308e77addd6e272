use std::{path::PathBuf, sync::PoisonError};

use wf_base::{digest::Sha256Digest, name::Name};
use wf_core::agent::ModelRequest;

use super::{Cassette, RecordedExchange, RequestDifference, folder::read_exchange, request_digest};
use crate::retry::{ModelFailure, ModelFailureKind};

/// The words in the failure of a call whose request was not recorded.
pub const NO_RECORDED_REPLY: &str = "has no reply to this request";

impl Cassette {
    /// Returns the next recorded exchange with a request. A request that was not recorded fails for ever: nothing
    /// else may answer it.
    pub fn replay(&self, model: &Name, request: &ModelRequest) -> Result<RecordedExchange, ModelFailure> {
        let failed = |message: String| ModelFailure::new(ModelFailureKind::Unrecorded, message);
        let digest = request_digest(model, request);
        let number = {
            let mut played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
            let count = played.entry(digest).or_default();
            *count = count.saturating_add(1);
            *count
        };
        let read = |number| self.read_recording(&digest, number).map_err(|error| failed(error.to_string()));
        if let Some(exchange) = read(number)? {
            return Ok(exchange);
        }
        let reason = if number > 1 && read(1)?.is_some() {
            format!("{}… was made fewer than {number} times", digest.short())
        } else {
            self.describe_miss(model, request)
        };
        let folder = self.folder().display();
        Err(failed(format!("{folder} {NO_RECORDED_REPLY}: {reason}; --record makes a new cassette")))
    }

    /// Returns the recorded request nearest to an unrecorded one, and its first difference.
    fn describe_miss(&self, model: &Name, request: &ModelRequest) -> String {
        let mut nearest: Option<(PathBuf, RequestDifference)> = None;
        // One after the other: a cassette may be larger than the memory.
        for path in self.files().unwrap_or_default() {
            let Ok(recorded) = read_exchange(&path, &self.last_read) else {
                continue;
            };
            let difference = RequestDifference::between(&recorded, model, request);
            if nearest.as_ref().is_none_or(|(_, best)| difference.is_smaller_than(best)) {
                nearest = Some((path, difference));
            }
        }
        let Some((path, difference)) = nearest else {
            return "none of its recordings can be read".into();
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let digest: String = name.chars().take(Sha256Digest::SHORT).collect();
        format!("in the nearest one, {digest}…, {difference}")
    }
}
