use serde::{Deserialize, Serialize};

use super::ChildStart;
use wf_base::name::{Name, PlanId};
use wf_model::taint::taints;
use wf_model::{AgentDispatch, JsonObject};

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
