use std::collections::BTreeMap;

use super::Tail;
use crate::machine::Attempt;
use crate::name::RunId;

/// What attempts printed that are not yet known to have begun: one that was staged begins before
/// that is durable.
#[derive(Debug, Default)]
pub(super) struct Early(BTreeMap<(RunId, Attempt), Tail>);

impl Early {
    /// Keeps the last lines of an attempt.
    pub(super) fn push(&mut self, run: &RunId, attempt: &Attempt, bytes: &[u8]) {
        let key = (run.clone(), attempt.clone());
        self.0.entry(key).or_default().push(bytes);
    }

    /// The last lines of an attempt that has begun.
    pub(super) fn take(&mut self, run: &RunId, attempt: &Attempt) -> Tail {
        let key = (run.clone(), attempt.clone());
        self.0.remove(&key).unwrap_or_default()
    }
}
