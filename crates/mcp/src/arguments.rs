use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The maximum time `status` waits, in seconds.
pub(crate) const MAX_WAIT: u32 = 600;

/// The arguments of a tool without any.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoArguments {}

/// The arguments of `check`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckArguments {
    /// The files and folders to check, relative to the workspace; everything in the workspace if left out.
    #[serde(default)]
    pub(crate) paths: Vec<String>,
}

/// The arguments of `graph`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanArguments {
    /// The plan: its file, relative to the workspace, or its id.
    pub(crate) plan: String,
}

/// The arguments of `run` and `preview`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartArguments {
    /// The plan: its file, relative to the workspace, or its id.
    pub(crate) plan: String,
    /// The parameters of the plan, by name.
    #[serde(default)]
    pub(crate) params: Map<String, Value>,
}

/// The arguments of `status`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatusArguments {
    /// The run: its id or a unique prefix of it; the latest run if left out.
    pub(crate) run: Option<String>,
    /// The seconds to wait while the run goes on, at most 600; none if left out.
    #[schemars(range(max = MAX_WAIT))]
    pub(crate) wait_seconds: Option<u32>,
}

/// The arguments of `runs`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunsArguments {
    /// The id of a plan: only its runs are listed.
    pub(crate) plan: Option<String>,
    /// The maximum number of runs; 20 if left out.
    pub(crate) limit: Option<u32>,
}

/// The arguments of `logs`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogsArguments {
    /// The run: its id or a unique prefix of it; the latest run if left out.
    pub(crate) run: Option<String>,
    /// The step, also `fetch[2]`, `build#1` (an attempt) or `outer/inner`; all steps if left out.
    pub(crate) step: Option<String>,
    /// The number of last lines of each step; 200 if left out.
    pub(crate) tail: Option<u32>,
}

/// The arguments of `verify`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerifyArguments {
    /// The run: its id or a unique prefix of it; the latest run if left out.
    pub(crate) run: Option<String>,
    /// The step, also `test[2]` or `outer/inner`; all steps if left out.
    pub(crate) step: Option<String>,
}
