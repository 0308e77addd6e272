use std::time::Duration;

use crate::expr::Template;
use crate::name::Name;

/// A decision that a person makes (DESIGN section 7).
#[derive(Clone, Debug)]
pub struct Approve {
    /// What is asked.
    pub message: Template,
    /// The values that are shown with it. What is approved are these very values: they become the
    /// outputs of the step.
    pub show: Vec<(Name, Template)>,
    /// Who must agree, and until when.
    pub needs: Needs,
}

/// Who must agree to something, and until when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// How many must agree; `None`: as many as the workspace's policy demands.
    pub required: Option<u32>,
    /// The names of those who may; empty: every approver of the workspace.
    pub approvers: Vec<String>,
    /// How long there is time; `None`: as long as the rule is.
    pub timeout: Option<Duration>,
    /// Who is asked, for as long again, when nobody has answered in time; empty: nobody.
    pub escalate_to: Vec<String>,
}

impl Needs {
    /// How long there is time to answer where nobody says it.
    pub const TIMEOUT: Duration = Duration::from_hours(7 * 24);

    /// How long there is time to answer.
    pub fn time(&self) -> Duration {
        self.timeout.unwrap_or(Self::TIMEOUT)
    }
}
