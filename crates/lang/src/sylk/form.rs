use serde::Deserialize;

use super::SylkMistake;
use wf_base::exact_json;

/// The graph as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SylkDag {
    pub id: String,
    pub session_id: Option<String>,
    pub prompt: Option<String>,
    pub nodes: Vec<SylkNode>,
    pub execution_order: Option<Vec<Vec<String>>>,
    #[serde(default)]
    pub policy: SylkPolicy,
}

/// One prompt for one agent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SylkNode {
    pub id: String,
    pub agent: String,
    pub prompt: String,
    #[serde(default)]
    pub context: SylkContext,
    #[serde(default)]
    pub metadata: SylkMetadata,
    #[serde(default)]
    pub depends_on: Vec<String>,
}

/// The knowledge an agent gets beside its prompt.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SylkContext {
    pub relevant_files: Vec<String>,
    pub reason: Option<String>,
    pub upstream_outputs: Vec<String>,
    pub constraints: Vec<String>,
}

/// The limits and the reach of a node.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SylkMetadata {
    pub priority: Option<String>,
    pub timeout_ms: Option<u64>,
    pub retry: Option<SylkRetry>,
    pub file_operations: Vec<SylkOperation>,
}

/// An operation on files.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum SylkOperation {
    Read,
    Create,
    Write,
}

/// Further attempts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SylkRetry {
    pub max: u32,
    pub backoff_ms: Option<u64>,
}

/// The rules for all nodes.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SylkPolicy {
    pub max_concurrency: Option<u32>,
    pub fail_fast: Option<bool>,
    pub default_retry: Option<SylkRetry>,
}

/// Reads the form. An unknown key, a wrong type and a missing key are mistakes.
pub(super) fn read_form(text: &str) -> Result<SylkDag, SylkMistake> {
    exact_json::read(text).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        let whole = error.to_string();
        let message = whole.rsplit_once(" at line ").map_or(whole.as_str(), |(message, _)| message);
        SylkMistake::new(place, message, "docs/language/nested-plans.md lists the keys of the JSON form")
    })
}
