use std::time::Duration;

use crate::{
    expr::Template,
    summary::{RecordView, SummaryBuilder},
};
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
    /// The answer asked for; `None`: yes or no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerKind>,
    /// The approvers that must agree, and the deadline.
    pub needs: ApprovalRequirement,
}

/// A decision made by approvers.
pub(crate) fn show_approval(approval: &ApprovalStep, summary: &mut SummaryBuilder) {
    lines!(summary in Decision { guard "approve" = "it waits for an approval", below "approve" = approval });
}

view! { decision: ApprovalStep in Decision {
    plain message = serde_json::Value::from(message.source()),
    guard show,
    below answer,
    own needs = RecordView::view,
} }

/// The kind of an answer saying more than yes. Its value becomes an output of the step.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// Exactly one of several words.
    Choose(AnswerChoices),
    /// A text that may be changed.
    Edit {
        /// The draft.
        text: Template,
        /// The maximum number of characters.
        max_length: u32,
    },
    /// All of a list, or some of it.
    Select(Template),
}

/// The words to choose from.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum AnswerChoices {
    /// A list in the plan.
    List(Vec<String>),
    /// A list computed in the run.
    Computed(Template),
}

/// The answer asked for.
impl RecordView for AnswerKind {
    fn view(&self, summary: &mut SummaryBuilder) {
        let source = match self {
            Self::Choose(AnswerChoices::List(words)) => words.join(", "),
            _ => self.template().map(|text| text.source().to_owned()).unwrap_or_default(),
        };
        lines!(summary in Decision { plain (self.as_str()) = source });
        if let Self::Edit { max_length, .. } = self {
            lines!(summary in Decision { most "max_length" = max_length });
        }
    }
}

impl AnswerKind {
    /// The default maximum number of characters of a text.
    pub const MAX_LENGTH: u32 = 20_000;

    /// Returns its word in a plan.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Choose(_) => "choose",
            Self::Edit { .. } => "edit",
            Self::Select(_) => "select",
        }
    }

    pub fn output(&self) -> &'static str {
        match self {
            Self::Choose(_) => "choice",
            Self::Edit { .. } => "text",
            Self::Select(_) => "selected",
        }
    }

    /// Returns the template of what is answered, if it is computed.
    pub fn template(&self) -> Option<&Template> {
        match self {
            Self::Choose(AnswerChoices::List(_)) => None,
            Self::Choose(AnswerChoices::Computed(text)) | Self::Edit { text, .. } | Self::Select(text) => {
                Some(text)
            }
        }
    }
}

impl ApprovalStep {
    pub fn covered(&self) -> impl Iterator<Item = &Template> {
        let answered = self.answer.as_ref().and_then(AnswerKind::template);
        self.show.iter().map(|(_, value)| value).chain(answered)
    }
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

// The approvers who must agree.
view! { needs: ApprovalRequirement in Decision {
    least required,
    plain approvers,
    most timeout,
    grant escalate_to,
} }

impl ApprovalRequirement {
    /// The default time to answer.
    pub const TIMEOUT: Duration = Duration::from_hours(7 * 24);

    /// Returns the time to answer.
    pub fn response_timeout(&self) -> Duration {
        self.timeout.unwrap_or(Self::TIMEOUT)
    }
}
