//! The forms of an answer; each is signed as one of two decisions.

use wf_sign::approval::ApprovalDecision;

/// The form of an answer to a pending approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// A yes.
    Approval,
    /// A no, or no answer to a question.
    Denial,
    /// The text answering the question of an agent.
    Text,
}

impl AnswerForm {
    /// Returns the decision to sign.
    pub fn decision(self) -> ApprovalDecision {
        match self {
            Self::Approval | Self::Text => ApprovalDecision::Approved,
            Self::Denial => ApprovalDecision::Denied,
        }
    }
}
