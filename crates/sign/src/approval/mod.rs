//! Approvals: signed statements of what may run, which anyone can verify and no one can alter.
//!
//! A [`ApprovalStatement`] names the plan and every file it executes by digest, the parameters, its validity and its
//! number of uses. It is signed by one approver or more as a [`ApprovalToken`]: a DSSE envelope around canonical
//! JSON. [`check`](check()) decides whether a token allows a [`ApprovalContext`], the action about to be taken;
//! [`verify`] does so, too, and returns the use to record, so an approval is not used twice. Both return a
//! [`ApprovalRefusal`] with the reason. Silas 5.8, 5.11, INV-01, INV-02.
//!
//! Pure: no clock, no files, no random bytes. **Invariant:** a token changed in any byte allows nothing.
//! **Invariant:** unsigned content decides nothing.

mod answer;
mod approvers;
mod check;
mod digests;
mod install;
mod refusal;
mod statement;
mod token;

#[cfg(test)]
mod tests;

pub use answer::{Quorum, QuorumState, decide, proposal, proposal_text};
pub use approvers::{Approver, Approvers, ReviewPolicy, VALIDITY};
pub use check::{
    ApprovalConsumption, ApprovalContext, SKEW, SpawnedPlan, ValidApproval, check, check_unconsumed,
    envelope_signers, signers, verify,
};
pub use digests::{ApprovedFileDifference, SpawnPolicy, differences, plan_digest};
pub use install::{INSTALLER, SKILL_VALIDITY, check_installation, install_params};
pub use refusal::ApprovalRefusal;
pub use statement::{
    ANSWER_VERSION, ApprovalDecision, ApprovalNonce, ApprovalRequestRef, ApprovalScope, ApprovalStatement,
    ParamBound, PlanRef, VERSION, WorkspaceRef,
};
pub use token::{ApprovalToken, GoalContent, PAYLOAD, accepts};
