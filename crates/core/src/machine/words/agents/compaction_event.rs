//! The facts about the compaction of an agent's conversation, and the record of their fold.

use serde::{Deserialize, Serialize};

use crate::{
    agent::{ContextCut, GroupChoice},
    machine::words::{AskedModel, Attempt, AttemptUsage, ModelCallStart},
};
use wf_base::name::Name;
use wf_model::{ModelPrice, Money};

/// The model for cuts of long conversations, and the limits of its calls.
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

impl CompactorLimits {
    /// Returns the most a question may use.
    pub(in crate::machine) fn reserve(&self) -> AttemptUsage {
        let (input, output) = (self.max_input, self.max_output);
        let cost = self.price.map_or(Money::default(), |price| price.highest_cost(input, output));
        AttemptUsage { attempts: 0, tokens: input.saturating_add(output), cost }
    }
}

/// The compactor is to be asked for the cut of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CompactionStart {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The number of the model call with the cut request.
    pub call: u32,
    /// The groups of turns to choose from, by the numbers of the turns.
    pub groups: Vec<Vec<u32>>,
}

/// The compactor was asked for the cut of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CompactionEnd {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The number of the model call with the cut request.
    pub call: u32,
    /// The result.
    #[serde(flatten)]
    pub outcome: CompactionOutcome,
    /// The call; absent: none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<AskedModel>>,
    /// The amounts used by it.
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
        /// The chosen cut.
        context: ContextCut,
    },
    /// It gave no usable answer: the oldest turns are omitted.
    Failed {
        /// The reason.
        reason: String,
    },
}

/// The question to the compactor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionRequest {
    /// The model call with the cut request.
    pub start: ModelCallStart,
    /// The groups of turns.
    pub groups: Vec<Vec<u32>>,
}

/// The answer of the compactor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionReply {
    /// The model call with the cut request.
    pub start: ModelCallStart,
    /// Its text, or the reason why there is none.
    pub said: Result<String, String>,
    /// The call; absent: none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<AskedModel>>,
    /// The amounts used by it.
    #[serde(default, skip_serializing_if = "AttemptUsage::is_zero")]
    pub usage: AttemptUsage,
}

/// The question to the compactor for a model call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::machine) struct CompactionRecord {
    /// The number of the model call.
    pub(in crate::machine) call: u32,
    /// The groups of turns.
    pub(in crate::machine) groups: Vec<Vec<u32>>,
    /// The outcome; `None`: it is asked.
    pub(in crate::machine) outcome: Option<CompactionOutcome>,
}

impl CompactionRecord {
    pub(in crate::machine) fn is_open(&self) -> bool {
        self.outcome.is_none()
    }

    /// Returns the cut that the compactor chose.
    pub(in crate::machine) fn context(&self) -> Option<&ContextCut> {
        match &self.outcome {
            Some(CompactionOutcome::Chosen { context, .. }) => Some(context),
            _ => None,
        }
    }
}
