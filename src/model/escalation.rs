use serde::{Deserialize, Serialize};

/// What a block leads to (Silas 5.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escalation {
    /// Its name, which `on_block` and `fallback` refer to.
    pub name: String,
    /// What is done.
    pub action: EscalationAction,
    /// What is said.
    pub message: Option<String>,
    /// How often something is tried again before the fallback.
    pub max_retries: u32,
    /// The escalation that follows when this one has nothing left to do.
    pub fallback: Option<String>,
    /// The queue that a person works off.
    pub queue: Option<String>,
    /// What the next attempt is told to do otherwise.
    pub rephrase: Option<String>,
    /// The plan that is to mend it: its path, relative to the workspace.
    pub plan: Option<String>,
}

/// What is done about a block.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EscalationAction {
    /// It stays blocked, and the message is the reason.
    Respond,
    /// It stays blocked, and the owner is told.
    Report,
    /// The step is tried again.
    Retry,
    /// What the step gave is dropped, and it is tried again with an instruction.
    SuppressAndRephrase,
    /// What the step gave is dropped, and the fallback follows.
    SuppressAndEscalate,
    /// A person decides.
    EscalateHuman,
    /// A person who works off a queue decides.
    TransferToQueue,
    /// It stays blocked, and the plan that is to mend it is named as a task.
    SpawnTask,
}

impl EscalationAction {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Respond => "respond",
            Self::Report => "report",
            Self::Retry => "retry",
            Self::SuppressAndRephrase => "suppress_and_rephrase",
            Self::SuppressAndEscalate => "suppress_and_escalate",
            Self::EscalateHuman => "escalate_human",
            Self::TransferToQueue => "transfer_to_queue",
            Self::SpawnTask => "spawn_task",
        }
    }
}
