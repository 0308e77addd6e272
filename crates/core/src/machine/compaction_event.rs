use serde::{Deserialize, Serialize};

use crate::agent::{ContextCut, GroupChoice};
use crate::machine::agent_event::ModelCallStart;
use crate::machine::asked_model::AskedModel;
use crate::machine::ledger::AttemptUsage;
use crate::machine::task_id::Attempt;
use wf_base::name::Name;
use wf_model::ModelPrice;

/// The model that chooses what is omitted of long conversations, and what a call of it may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CompactorLimits {
    /// The model.
    pub model: Name,
    /// The maximum tokens of a question, as estimated.
    pub max_input: u64,
    /// The maximum tokens of an answer.
    pub max_output: u64,
    /// The prices: those of the dearest among the model and its fallbacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<ModelPrice>,
}

/// The compactor is to be asked what is omitted of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CompactionStart {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The number of the model call whose request is cut.
    pub call: u32,
    /// The groups of turns among which it chooses, by the numbers of the turns.
    pub groups: Vec<Vec<u32>>,
}

/// The compactor was asked what is omitted of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CompactionEnd {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The number of the model call whose request is cut.
    pub call: u32,
    /// The result.
    #[serde(flatten)]
    pub outcome: CompactionOutcome,
    /// The call; absent: none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<AskedModel>>,
    /// The amounts that it used.
    #[serde(default, skip_serializing_if = "AttemptUsage::is_zero")]
    pub usage: AttemptUsage,
}

/// The result of asking the compactor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum CompactionOutcome {
    /// It chose.
    Chosen {
        /// The numbers of the groups, from 1.
        #[serde(flatten)]
        choice: GroupChoice,
        /// The cut that follows.
        context: ContextCut,
    },
    /// It gave no answer that may be used: the oldest turns are omitted.
    Failed {
        /// The reason.
        reason: String,
    },
}

/// The question to the compactor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionRequest {
    /// The model call whose request is cut.
    pub start: ModelCallStart,
    /// The groups of turns.
    pub groups: Vec<Vec<u32>>,
}

/// The answer of the compactor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionReply {
    /// The model call whose request is cut.
    pub start: ModelCallStart,
    /// Its text, or the reason why there is none.
    pub said: Result<String, String>,
    /// The call; absent: none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<AskedModel>>,
    /// The amounts that it used.
    #[serde(default, skip_serializing_if = "AttemptUsage::is_zero")]
    pub usage: AttemptUsage,
}
