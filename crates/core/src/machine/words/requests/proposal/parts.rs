use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use wf_base::name::{ArgName, Name};

/// The changeable parts of an agent's work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedAgent {
    /// The role: one of an agent in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Name>,
    /// The model: one of an agent in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Name>,
    /// The maximum number of model calls: at most as many as the plan gives an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// A text below the briefing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// Values for the briefing, in place of those of the same names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub with: BTreeMap<Name, Value>,
}

/// The changeable parts of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedRequest {
    /// The URL: of a host named in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The body, if one is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// The changeable parts of a skill script's call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedScript {
    /// The arguments.
    pub args: ProposedArguments,
}

/// The arguments of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum ProposedArguments {
    /// Arguments by name, in place of those of the same names.
    Named(BTreeMap<ArgName, Value>),
    /// All words, for a script without declared arguments.
    Words(Vec<String>),
}
