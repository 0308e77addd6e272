use crate::summary::{RecordView, SummaryBuilder};
use serde::{Deserialize, Serialize};
use wf_base::keywords;

/// A reaction to a block (Silas 5.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escalation {
    /// Its name, which `on_block` and `fallback` refer to.
    pub name: String,
    /// The action.
    pub action: EscalationAction,
    /// The message.
    pub message: Option<String>,
    /// The maximum number of retries before the fallback.
    pub max_retries: u32,
    /// The escalation following when this one is exhausted.
    pub fallback: Option<String>,
    /// The queue that approvers work off.
    pub queue: Option<String>,
    /// The instruction for the next attempt to do it differently.
    pub rephrase: Option<String>,
    /// The path of the repair plan, relative to the workspace.
    pub plan: Option<String>,
}

/// The escalations that blocks lead to.
pub(crate) fn show_escalations(escalations: &[Escalation], summary: &mut SummaryBuilder) {
    summary.below("escalation", |summary| {
        for escalation in escalations {
            let (name, action) = (&escalation.name, escalation.action.as_str());
            lines!(summary in Decision { plain (name) = action });
            summary.below(name, |summary| escalation.view(summary));
        }
    });
}

view! { escalation: Escalation in Decision {
    plain message,
    plain fallback,
    plain queue,
    plain rephrase,
    plain plan,
    most max_retries,
} aside name, action }

keywords! {
    /// The action of an escalation.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum EscalationAction {
        /// It stays blocked, and the message is the reason.
        Respond = "respond",
        /// It stays blocked, and the owner is notified.
        Report = "report",
        /// The step is retried.
        Retry = "retry",
        /// The output of the step is dropped, and it is retried with an instruction.
        SuppressAndRephrase = "suppress_and_rephrase",
        /// The output of the step is dropped, and the fallback follows.
        SuppressAndEscalate = "suppress_and_escalate",
        /// An approver decides.
        EscalateHuman = "escalate_human",
        /// An approver who works off a queue decides.
        TransferToQueue = "transfer_to_queue",
        /// It stays blocked, and the repair plan is recorded as a task.
        SpawnTask = "spawn_task",
    }
}
