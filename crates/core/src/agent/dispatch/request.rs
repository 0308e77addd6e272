use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::DispatchRequest;
use wf_base::name::{Name, PlanId};
use wf_model::{AgentDispatch, JsonObject, Plan, resolve_params};

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

/// Reads a call of `dispatch`. A mistake is one sentence for the model.
pub fn read_dispatch(
    dispatch: Option<&AgentDispatch>,
    request: &DispatchRequest,
) -> Result<ChildRequest, String> {
    let dispatch = dispatch.ok_or("this step may start no plan")?;
    let names = request.depends_on.iter().map(|id| child_id(id));
    let depends_on = names.collect::<Result<_, _>>()?;
    let (plan, params) = child_plan(dispatch, &request.plan, &request.params)?;
    Ok(ChildRequest::Dispatch(ChildStart { child: child_id(&request.id)?, plan, params, depends_on }))
}

/// Reads the argument of a call of `collect`. A mistake is one sentence for the model.
pub fn read_collect(id: &str) -> Result<ChildRequest, String> {
    Ok(ChildRequest::Collect(match id {
        "ready" => ChildChoice::Ready,
        "all" => ChildChoice::All,
        id => ChildChoice::Child(child_id(id)?),
    }))
}

/// Reads the id of a child run.
fn child_id(id: &str) -> Result<Name, String> {
    match Name::parse(id) {
        Ok(name) if !["ready", "all"].contains(&name.as_str()) => Ok(name),
        Ok(name) => Err(format!("`{name}` cannot be the id of a run: collect has another meaning for it")),
        Err(mistake) => Err(format!("the id of a run is not valid: {mistake}")),
    }
}

/// Returns the id of a plan that may be started, with its parameters.
fn child_plan(
    dispatch: &AgentDispatch,
    id: &str,
    given: &JsonObject,
) -> Result<(PlanId, JsonObject), String> {
    let Some(child) = dispatch.plan(id) else {
        let known: Vec<String> =
            dispatch.plans.iter().map(|child| format!("`{}`", child.plan.id())).collect();
        let called = Value::String(id.chars().take(80).collect());
        return Err(format!("this step may not start the plan {called}; the plans are {}", known.join(", ")));
    };
    let missing = missing_params(&child.plan, given);
    if !missing.is_empty() {
        return Err(format!("`{id}` needs the parameters {}: give them in `params`", missing.join(", ")));
    }
    match resolve_params(&child.plan.parts().params, given) {
        Ok(params) => Ok((child.plan.id().clone(), params)),
        Err(bad) => Err(format!("`{id}` cannot begin: {}", bad.problems.join("; "))),
    }
}

/// Returns the parameters without a value.
fn missing_params(plan: &Plan, given: &JsonObject) -> Vec<String> {
    let params = plan.parts().params.iter();
    let missing = params.filter(|param| param.default.is_none() && !given.contains_key(param.name.as_str()));
    missing.map(|param| format!("`{}`", param.name)).collect()
}
