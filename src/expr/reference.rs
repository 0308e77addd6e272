use crate::source::Span;

/// A name that an expression reads, in the only forms there are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ref {
    /// `params.NAME`
    Param(String),
    /// `steps.STEP.outputs.NAME`
    Output {
        /// The step read from.
        step: String,
        /// Which of its outputs.
        output: String,
    },
    /// `steps.STEP.status`, the word for a step's final state.
    StepStatus(String),
    /// `secrets.NAME`
    Secret(String),
    /// `item`, the value of this item of a `for_each`; fields of it may follow.
    Item,
    /// `item_key`, the stable key of this item.
    ItemKey,
    /// `item_index`, the place of this item in its list, from zero.
    ItemIndex,
    /// `matrix.AXIS`
    Matrix(String),
    /// `run.id`
    RunId,
    /// A status function: `always()`, `failed('a')`, `succeeded()` …
    Test(StatusTest, Option<String>),
}

/// The status functions. With a step's name they ask about that step, without one about all
/// steps so far. Calling any of them lifts the rule that all dependencies must have succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatusTest {
    /// `always()`: true.
    Always,
    /// `succeeded('a')`: the step succeeded; without a name: nothing failed and nobody cancelled.
    Succeeded,
    /// `failed('a')`: the step failed; without a name: some step failed.
    Failed,
    /// `skipped('a')`: the step was skipped.
    Skipped,
    /// `cancelled('a')`: the step was cancelled; without a name: the run was.
    Cancelled,
}

/// A reference and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpannedRef {
    /// What is referred to.
    pub name: Ref,
    /// Where.
    pub span: Span,
}
