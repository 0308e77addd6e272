use std::time::Duration;

use crate::expr::Template;
use serde::Serialize;
use wf_base::name::Name;

/// A decision made by an approver (DESIGN section 7).
#[derive(Clone, Debug, Serialize)]
pub struct ApprovalStep {
    /// The question that is asked.
    pub message: Template,
    /// The values shown with it. The approval covers exactly these values: they become the outputs
    /// of the step.
    pub show: Vec<(Name, Template)>,
    /// The approvers that must agree, and the deadline.
    pub needs: ApprovalRequirement,
}

/// The approvers that must agree to something, and the deadline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ApprovalRequirement {
    /// The number of approvals required; `None`: as many as the workspace's policy demands.
    pub required: Option<u32>,
    /// The names of the eligible approvers; empty: every approver of the workspace.
    pub approvers: Vec<String>,
    /// The time to answer; `None`: the default time.
    #[serde(skip)]
    pub timeout: Option<Duration>,
    /// The approvers asked next, for the same time again, if no answer came in time; empty: none.
    #[serde(skip)]
    pub escalate_to: Vec<String>,
}

impl ApprovalRequirement {
    /// The default time to answer.
    pub const TIMEOUT: Duration = Duration::from_hours(7 * 24);

    /// Returns the time to answer.
    pub fn response_timeout(&self) -> Duration {
        self.timeout.unwrap_or(Self::TIMEOUT)
    }
}
