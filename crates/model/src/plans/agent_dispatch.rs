use std::sync::Arc;

use serde::Serialize;

use crate::plans::plan::Plan;
use crate::summary::show_child_plans;

/// The plans that an agent may start as child runs, and how many.
#[derive(Clone, Debug, Serialize)]
pub struct AgentDispatch {
    /// The plans, each once, with different ids.
    pub plans: Vec<ChildPlan>,
    /// The maximum number of child runs of an attempt.
    pub max: u32,
    /// The maximum number of them at a time.
    pub max_parallel: u32,
}

view! { dispatch: AgentDispatch in Effort {
    own plans = show_child_plans,
    plain max,
    plain max_parallel,
} }

/// A plan that an agent may start.
#[derive(Clone, Debug, Serialize)]
pub struct ChildPlan {
    /// The plan, loaded with the one that names it.
    pub plan: Arc<Plan>,
    /// The path it was loaded from, relative to the workspace.
    pub path: String,
}

impl AgentDispatch {
    /// The default of `max`.
    pub const MAX: u32 = 20;

    /// The default of `max_parallel`.
    pub const MAX_PARALLEL: u32 = 4;

    /// Returns the plan in a file, if it is one of them.
    pub fn plan_at(&self, path: &str) -> Option<&Arc<Plan>> {
        self.plans.iter().find(|child| child.path == path).map(|child| &child.plan)
    }

    /// Returns the plan with an id.
    pub fn plan(&self, id: &str) -> Option<&ChildPlan> {
        self.plans.iter().find(|child| child.plan.id().as_str() == id)
    }
}
