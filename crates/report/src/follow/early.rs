use std::collections::BTreeMap;

use super::OutputTail;
use wf_base::name::RunId;
use wf_core::machine::Attempt;

/// The output of attempts that are not yet known to have started: a staged one starts before that
/// is durable.
#[derive(Debug, Default)]
pub(super) struct EarlyOutput(BTreeMap<(RunId, Attempt), OutputTail>);

impl EarlyOutput {
    /// Keeps the last lines of an attempt.
    pub(super) fn push(&mut self, run: &RunId, attempt: &Attempt, bytes: &[u8]) {
        let key = (run.clone(), attempt.clone());
        self.0.entry(key).or_default().push(bytes);
    }

    /// The last lines of an attempt that has begun.
    pub(super) fn take(&mut self, run: &RunId, attempt: &Attempt) -> OutputTail {
        let key = (run.clone(), attempt.clone());
        self.0.remove(&key).unwrap_or_default()
    }
}
