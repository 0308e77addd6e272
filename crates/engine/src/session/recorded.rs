//! The data of a recorded run a session uses in the place of its own, so it repeats the run.

use std::collections::BTreeMap;

use super::engine_session::EngineSession;
use wf_core::agent::PriorConversation;
use wf_core::agent::authoring::MemoryCalibration;
use wf_core::machine::{ApprovalOutcome, ApprovalRequest, Attempt};
use wf_core::observe::RunRef;

/// The answers of people in a recorded run, which its replay gives in their place.
pub trait RecordedAnswers: Send + Sync {
    /// Returns the answer to a request; `None`: the recorded run has none to exactly this request. The same request of the
    /// same run always has the same answer.
    fn answer(&self, run: &RunRef, request: &ApprovalRequest) -> Option<ApprovalOutcome>;
}

/// The conversations the agents of a recorded run continued, by the tasks above its run and the attempt.
pub type RecordedConversations = BTreeMap<(Vec<String>, Attempt), PriorConversation>;

/// The knowledge of memory the agents of a recorded run were told, by the tasks above its run and the attempt.
pub type RecordedCalibrations = BTreeMap<(Vec<String>, Attempt), MemoryCalibration>;

impl EngineSession {
    /// Lets the answers of a recorded run count, and none that is signed.
    pub fn use_recorded_answers(&self, recorded: Box<dyn RecordedAnswers>) {
        let _ = self.shared.answers.set(recorded);
    }

    /// Lets agents continue the conversations of a recorded run, and none of this workspace.
    pub fn use_recorded_conversations(&self, recorded: RecordedConversations) {
        let _ = self.shared.conversations.set(recorded);
    }

    /// Tells agents what memory knew in a recorded run, and nothing of this workspace.
    pub fn use_recorded_calibrations(&self, recorded: RecordedCalibrations) {
        let _ = self.shared.calibrations.set(recorded);
    }
}
