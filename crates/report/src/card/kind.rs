use wf_base::keywords;
use wf_core::machine::{AnswerOptions, ApprovalRequest};

keywords! {
    /// The kind of a card: what a person does with it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CardKind {
        /// The run as a whole may begin, or give its outputs.
        Plan = "plan",
        /// A step of the plan asks before others follow.
        Step = "step",
        /// A gate asks about a step.
        Gate = "gate",
        /// One of several words is chosen.
        Decision = "decision",
        /// A text is sent as it is, or changed.
        Draft = "draft",
        /// All entries of a list are taken, or some.
        Batch = "batch",
        /// A question is answered in words.
        Question = "question",
        /// An agent asks for a tool, or a gate asks about a part of its conversation.
        Agent = "agent",
        /// The changes of an agent are merged.
        Merge = "merge",
        /// Failed checks are ignored.
        Checks = "checks",
    }
}

impl CardKind {
    /// Returns the kind of the card of a request.
    pub(super) fn from_request(request: &ApprovalRequest) -> Self {
        match &request.answer {
            Some(AnswerOptions::Choose(_)) => return Self::Decision,
            Some(AnswerOptions::Edit { .. }) => return Self::Draft,
            Some(AnswerOptions::Select(_)) => return Self::Batch,
            None => {}
        }
        match () {
            () if request.is_question() => Self::Question,
            () if request.tool_call.is_some() || request.exchange.is_some() => Self::Agent,
            () if request.merge.is_some() => Self::Merge,
            () if request.phase.is_some() => Self::Checks,
            () if request.task_id.is_none() => Self::Plan,
            () if request.point.is_some() => Self::Gate,
            () => Self::Step,
        }
    }
}
