use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use wf_base::name::{ArgName, Name};

/// The parts of an agent's work that a planner may change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedAgent {
    /// The role: one that the plan gives an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Name>,
    /// The model: one that the plan gives an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Name>,
    /// The maximum number of model calls: at most as many as the plan gives an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// A text below the briefing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// Values for the briefing, which replace those of the same names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub with: BTreeMap<Name, Value>,
}

/// The parts of a request that a planner may change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedRequest {
    /// The URL: of a host that the plan names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The body, if one is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// The parts of a skill script's call that a planner may change.
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
    /// Arguments by name, which replace those of the same names.
    Named(BTreeMap<ArgName, Value>),
    /// All words, for a script that declares no arguments.
    Words(Vec<String>),
}
