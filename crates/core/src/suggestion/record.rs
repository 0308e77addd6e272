use serde::{Deserialize, Serialize};
use wf_base::{
    keywords,
    name::{PlanId, RunId},
    remedy::{Remedy, UserAction},
    time::Moment,
};
use wf_model::{JsonObject, SuggestionLimits};

/// A run of a plan that is suggested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Suggestion {
    /// The title, in the words of the run.
    pub title: String,
    /// The reason, in the words of the run; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The path of the plan, relative to the workspace.
    pub path: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub params: JsonObject,
}

/// The suggestions of a run that succeeded, and the limits on what is kept of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SuggestionOffer {
    /// The suggestions, the most useful one first.
    pub suggestions: Vec<Suggestion>,
    /// The limits.
    pub limits: SuggestionLimits,
}

keywords! {
    /// The state of a suggestion kept.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SuggestionState {
        /// Nobody has decided.
        Pending = "pending",
        /// A person started its plan.
        Accepted = "accepted",
        /// A person does not want it.
        Dismissed = "dismissed",
    }
}

/// A suggestion kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuggestionRecord {
    /// Its number, from 1.
    pub number: u32,
    /// The run that suggested it.
    pub run: RunId,
    /// The plan of that run.
    pub plan: PlanId,
    /// Its content.
    #[serde(flatten)]
    pub suggestion: Suggestion,
    /// Its state.
    pub state: SuggestionState,
    /// The time it was kept.
    pub since: Moment,
    /// The time of its state.
    pub changed: Moment,
    /// The run it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<RunId>,
}

/// The reason why nothing is done about a suggestion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuggestionRefusal {
    /// There is none with this number.
    #[error("suggestion {0} does not exist")]
    Unknown(u32),
    /// It has started a run.
    #[error("suggestion {0} was accepted before")]
    Accepted(u32),
    /// A person does not want it.
    #[error("suggestion {0} was dismissed")]
    Dismissed(u32),
}

impl SuggestionRefusal {
    /// Returns what to do about it.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Unknown(_) => Remedy::from("see the suggestions with ").quoted(UserAction::ListSuggestions),
            Self::Accepted(_) => Remedy::from("see its run with ")
                .quoted(UserAction::ListAllSuggestions)
                .text("; to run the plan again: ")
                .action(UserAction::StartRun),
            Self::Dismissed(_) => Remedy::from("run its plan yourself: ").action(UserAction::StartRun),
        }
    }
}

impl SuggestionRecord {
    /// Refuses a decision about a suggestion decided.
    pub fn require_pending(&self) -> Result<(), SuggestionRefusal> {
        match self.state {
            SuggestionState::Pending => Ok(()),
            SuggestionState::Accepted => Err(SuggestionRefusal::Accepted(self.number)),
            SuggestionState::Dismissed => Err(SuggestionRefusal::Dismissed(self.number)),
        }
    }

    /// Returns it after a run was started by it.
    pub fn accept(&self, run: RunId, now: Moment) -> Result<Self, SuggestionRefusal> {
        self.require_pending()?;
        let state = SuggestionState::Accepted;
        Ok(Self { state, changed: now, started: Some(run), ..self.clone() })
    }

    /// Returns it after a person said that they do not want it.
    pub fn dismiss(&self, now: Moment) -> Result<Self, SuggestionRefusal> {
        self.require_pending()?;
        Ok(Self { state: SuggestionState::Dismissed, changed: now, ..self.clone() })
    }
}
