use std::sync::Arc;

use super::{TaintLevel, TaintSummary};
use crate::expr::ExprReference;

/// The flow of values in a plan, and nothing else.
#[derive(Clone, Debug, Default)]
pub struct PlanFlow {
    /// The parameters, and the trust in each.
    pub params: Vec<(String, TaintLevel)>,
    /// The steps; each comes after those it reads from. A step with alternatives is listed
    /// once for each.
    pub steps: Vec<StepFlow>,
    /// The outputs of the plan: the name, and the values it is computed from.
    pub outputs: Vec<(String, Vec<ExprReference>)>,
}

/// The flow of values in a step.
#[derive(Clone, Debug)]
pub struct StepFlow {
    pub id: String,
    /// The values it is repeated over.
    pub each: Vec<ExprReference>,
    /// The inputs of its work.
    pub reads: Vec<ExprReference>,
    /// The source of its outputs.
    pub producer: OutputProducer,
    /// The outputs that are declared external.
    pub external: Vec<String>,
}

/// The source of a step's outputs.
#[derive(Clone, Debug)]
pub enum OutputProducer {
    /// By an HTTP request.
    Request,
    /// By an unconfined program. It is given every parameter.
    Free,
    /// By a program in a sandbox. It is given every parameter.
    Confined {
        /// True if it has network access.
        net: bool,
    },
    /// By an agent in a sandbox reading untrusted files. It is given every parameter.
    ExposedAgent,
    /// By another plan.
    Nested {
        /// The path of its file.
        path: String,
        /// The summary of the plan.
        summary: Arc<TaintSummary>,
        /// Its parameters, and the values each is computed from.
        with: Vec<(String, Vec<ExprReference>)>,
    },
    /// By approvers, who were shown the values and agreed.
    Decided,
    Nothing,
}
