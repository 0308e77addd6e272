//! Child runs an agent starts with the tools `dispatch` and `collect`: what a model may ask for, and what it is told.
//!
//! A call becomes a [`ChildRequest`] only if its plan is one that the step lists and its parameters are valid, so nothing
//! else can be started. `machine::children` decides when a child run begins, and what its end means.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::agent::{DispatchRequest, ToolDefinition, tool_definition};
use wf_base::name::{Name, NameFormatError, PlanId};
use wf_model::{AgentDispatch, AgentTool, ChildPlan, JsonObject, Plan, resolve_params, taint::taints};

#[cfg(test)]
mod tests;

/// Returns the definition of `dispatch` for a model: with the plans it may start, and their parameters.
pub fn dispatch_definition(dispatch: &AgentDispatch) -> ToolDefinition {
    let mut definition = tool_definition(AgentTool::Dispatch);
    let ids: Vec<&str> = dispatch.plans.iter().map(|child| child.plan.id().as_str()).collect();
    if let Some(plan) = definition.arguments_schema.pointer_mut("/properties/plan") {
        plan["enum"] = json!(ids);
    }
    definition.description.push_str(" The plans are:");
    for child in &dispatch.plans {
        describe(child, &mut definition.description);
    }
    let AgentDispatch { max, max_parallel, .. } = dispatch;
    let _ = write!(definition.description, "\nAt most {max} runs in all, and {max_parallel} at a time.");
    definition
}

/// Writes the title of a plan and its parameters.
fn describe(child: &ChildPlan, text: &mut String) {
    let parts = child.plan.parts();
    let _ = write!(text, "\n- {}", parts.id);
    if let Some(title) = &parts.title {
        let _ = write!(text, ": {title}");
    }
    for param in &parts.params {
        let need = if param.default.is_none() { "required" } else { "optional" };
        let _ = write!(text, "\n  - {} ({need}): {}", param.name, param.schema.text());
        if let Some(about) = &param.description {
            let _ = write!(text, " {}", Value::String(about.clone()));
        }
    }
}

/// A valid call of `dispatch` or `collect`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChildRequest {
    /// A child run is to be started.
    Dispatch(ChildStart),
    /// The results of child runs are asked for.
    Collect(ChildChoice),
}

/// A child run to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChildStart {
    /// The id that the model gave it.
    pub child: Name,
    /// The plan.
    pub plan: PlanId,
    /// Its resolved parameters.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub params: JsonObject,
    /// The child runs that must have succeeded first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Name>,
}

/// The child runs whose results are asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChildChoice {
    /// The runs that have ended. Nothing is waited for.
    Ready,
    /// All, once each has ended.
    All,
    /// One, once it has ended.
    Child(Name),
}

/// The mistake in a call of `dispatch` or `collect`, in one sentence for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChildRequestMistake {
    #[error("this step may start no plan")]
    NoPlans,
    /// The step does not list the plan.
    #[error("this step may not start the plan {called}; the plans are {}", .known.join(", "))]
    UnlistedPlan {
        /// The id, quoted.
        called: String,
        /// The plans, quoted.
        known: Vec<String>,
    },
    #[error("`{plan}` needs the parameters {}: give them in `params`", .missing.join(", "))]
    MissingParams { plan: String, missing: Vec<String> },
    #[error("`{plan}` cannot begin: {}", .problems.join("; "))]
    InvalidParams { plan: String, problems: Vec<String> },
    #[error("the id of a run is not valid: {0}")]
    InvalidId(#[from] NameFormatError),
    #[error("`{0}` cannot be the id of a run: collect has another meaning for it")]
    ReservedId(Name),
}

/// Reads a call of `dispatch`.
pub fn read_dispatch(
    dispatch: Option<&AgentDispatch>,
    request: &DispatchRequest,
) -> Result<ChildRequest, ChildRequestMistake> {
    let dispatch = dispatch.ok_or(ChildRequestMistake::NoPlans)?;
    let names = request.depends_on.iter().map(|id| child_id(id));
    let depends_on = names.collect::<Result<_, _>>()?;
    let (plan, params) = child_plan(dispatch, &request.plan, &request.params)?;
    Ok(ChildRequest::Dispatch(ChildStart { child: child_id(&request.id)?, plan, params, depends_on }))
}

/// Reads the argument of a call of `collect`.
pub fn read_collect(id: &str) -> Result<ChildRequest, ChildRequestMistake> {
    Ok(ChildRequest::Collect(match id {
        "ready" => ChildChoice::Ready,
        "all" => ChildChoice::All,
        id => ChildChoice::Child(child_id(id)?),
    }))
}

/// Reads the id of a child run.
fn child_id(id: &str) -> Result<Name, ChildRequestMistake> {
    let name = Name::parse(id)?;
    let is_reserved = ["ready", "all"].contains(&name.as_str());
    if is_reserved { Err(ChildRequestMistake::ReservedId(name)) } else { Ok(name) }
}

/// Returns the id of a plan that may be started, with its parameters.
fn child_plan(
    dispatch: &AgentDispatch,
    id: &str,
    given: &JsonObject,
) -> Result<(PlanId, JsonObject), ChildRequestMistake> {
    let Some(child) = dispatch.plan(id) else {
        let known = dispatch.plans.iter().map(|child| format!("`{}`", child.plan.id())).collect();
        let called = Value::String(id.chars().take(80).collect()).to_string();
        return Err(ChildRequestMistake::UnlistedPlan { called, known });
    };
    let missing = missing_params(&child.plan, given);
    if !missing.is_empty() {
        return Err(ChildRequestMistake::MissingParams { plan: id.to_owned(), missing });
    }
    match resolve_params(&child.plan.parts().params, given) {
        Ok(params) => Ok((child.plan.id().clone(), params)),
        Err(bad) => Err(ChildRequestMistake::InvalidParams { plan: id.to_owned(), problems: bad.problems }),
    }
}

/// Returns the parameters without a value.
fn missing_params(plan: &Plan, given: &JsonObject) -> Vec<String> {
    let params = plan.parts().params.iter();
    let missing = params.filter(|param| param.default.is_none() && !given.contains_key(param.name.as_str()));
    missing.map(|param| format!("`{}`", param.name)).collect()
}

/// The results of child runs, as a model gets them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildrenReport {
    /// The child runs, in the order in which they were started.
    pub runs: Vec<ChildReport>,
    /// The number of child runs that have not ended, where asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<usize>,
}

/// The result of a child run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildReport {
    pub id: Name,
    pub plan: PlanId,
    /// `dispatched`, `failed` or `cancelled`; of a run that succeeded, its verification status.
    pub status: String,
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub outputs: JsonObject,
    /// The reason why it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ChildReport {
    /// Returns the report on a child run that was just asked for.
    pub fn dispatched(start: &ChildStart) -> Self {
        let (id, plan, status) = (start.child.clone(), start.plan.clone(), "dispatched".to_owned());
        Self { id, plan, status, outputs: JsonObject::new(), error: None }
    }
}

impl ChildrenReport {
    /// Returns the report as the model gets it.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the source of outputs in it not trusted; `None`: all are, as the plans declare them.
    pub fn untrusted_source(&self, dispatch: &AgentDispatch) -> Option<String> {
        let is_untrusted = |report: &&ChildReport| {
            let plan = dispatch.plan(report.plan.as_str());
            !report.outputs.is_empty() && plan.is_some_and(|child| taints(&child.plan).has_external_outputs())
        };
        self.runs.iter().find(is_untrusted).map(|report| format!("the child run {}", report.id))
    }
}
