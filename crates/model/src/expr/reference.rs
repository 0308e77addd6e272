use std::fmt;

use super::PathKey;
use wf_base::{keywords, source::Span};

/// A name an expression reads, in one of these forms only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExprReference {
    Param(String),
    /// `steps.STEP.outputs.NAME`
    Output {
        step: String,
        output: String,
    },
    /// `steps.STEP.status`, the word for a step's final state.
    StepStatus(String),
    Secret(String),
    /// `item`, the value of this item of a `for_each`; fields of it may follow.
    Item,
    /// `item_key`, the stable key of this item.
    ItemKey,
    /// `item_index`, the position of this item in its list, from zero.
    ItemIndex,
    /// `matrix.AXIS`
    Matrix(String),
    RunId,
    /// `run.dispatch`, the name under which an agent dispatched the run; none elsewhere.
    RunDispatch,
    /// `block.NAME`, of the block behind the plan of an escalation.
    Block(BlockField),
    /// A status function: `always()`, `failed('a')`, `succeeded()` …
    Test(StatusFunction, Option<String>),
}

keywords! {
    /// The status functions. With a step's name they ask about that step, without one about all steps
    /// so far. Calling any of them lifts the rule that all dependencies must have succeeded.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum StatusFunction {
        /// `always()`: true.
        Always = "always",
        /// `succeeded('a')`: the step succeeded; without a name: no failure and no cancellation.
        Succeeded = "succeeded",
        /// `failed('a')`: the step failed; without a name: some step failed.
        Failed = "failed",
        /// `skipped('a')`: the step was skipped.
        Skipped = "skipped",
        /// `cancelled('a')`: the step was cancelled; without a name: the run was.
        Cancelled = "cancelled",
    }
}

keywords! {
    /// The values of a block of a gate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum BlockField {
        /// `block.gate`: the id of the gate.
        Gate = "gate",
        /// `block.step`: the blocked step, with its item; none for a blocked run.
        Step = "step",
        /// `block.reason`: the reason of the gate.
        Reason = "reason",
    }
}

/// A reference and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpannedReference {
    pub name: ExprReference,
    /// The part of its value that is read: its keys from the outside in.
    pub path: Vec<PathKey>,
    /// The position.
    pub span: Span,
}

impl ExprReference {
    /// Returns the step it asks about, if any.
    pub fn step(&self) -> Option<&str> {
        match self {
            Self::Output { step, .. } | Self::StepStatus(step) | Self::Test(_, Some(step)) => Some(step),
            _ => None,
        }
    }
}

/// Writes the only spelling of the name, for example `steps.a.outputs.rows`.
impl fmt::Display for ExprReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Param(name) => write!(f, "params.{name}"),
            Self::Output { step, output } => write!(f, "steps.{step}.outputs.{output}"),
            Self::StepStatus(step) => write!(f, "steps.{step}.status"),
            Self::Secret(name) => write!(f, "secrets.{name}"),
            Self::Item => f.write_str("item"),
            Self::ItemKey => f.write_str("item_key"),
            Self::ItemIndex => f.write_str("item_index"),
            Self::Matrix(axis) => write!(f, "matrix.{axis}"),
            Self::RunId => f.write_str("run.id"),
            Self::RunDispatch => f.write_str("run.dispatch"),
            Self::Block(field) => write!(f, "block.{field}"),
            Self::Test(test, Some(step)) => write!(f, "{test}('{step}')"),
            Self::Test(test, None) => write!(f, "{test}()"),
        }
    }
}
