use serde::Serialize;
use serde_json::{Value, json};

use crate::record::{RunLifecycle, RunRecord};
use wf_base::{keywords, name::RunId, time::Moment};

/// The version of the document. Within a version, keys are only added.
const DIFF_VERSION: u32 = 1;

/// The name of the field of durations, which differ from run to run without a reason.
pub(super) const DURATION: &str = "duration_ms";

keywords! {
    /// The compared parts of a run, in the order of their display.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RunPart {
        /// The end of the run.
        Run = "run",
        /// Its parameters.
        Params = "params",
        /// The texts of its plan, and the definitions of its steps.
        Plan = "plan",
        /// Its tasks.
        Steps = "steps",
        /// The criteria of its plan.
        Checks = "checks",
        /// The rounds of its controller.
        Rounds = "rounds",
        /// The decisions of people.
        Approvals = "approvals",
        /// The model calls, by caller and model.
        Models = "models",
        /// Its outputs.
        Outputs = "outputs",
        /// The files it left.
        Artifacts = "artifacts",
        /// The runs nested in it.
        Nested = "nested",
    }
}

/// The differences between two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunDiff {
    /// The version of the format.
    pub v: u32,
    /// The run compared with.
    pub before: RunIdentity,
    /// The run that is compared.
    pub after: RunIdentity,
    /// The parts that differ, in the order of [`RunPart`].
    pub parts: Vec<DifferingPart>,
}

/// A run that is compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunIdentity {
    pub run: RunId,
    /// The id of its plan.
    pub plan: String,
    /// The time when it was recorded.
    pub created: Moment,
    /// Its state in its life cycle.
    pub life: RunLifecycle,
}

/// A part where two runs differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DifferingPart {
    pub part: RunPart,
    /// The things in it that differ.
    pub entries: Vec<DifferingEntry>,
}

/// A thing in which two runs differ: a task, a round, a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DifferingEntry {
    pub name: String,
    /// Its values that differ. If one run has no such thing, all values of the other.
    pub values: Vec<ValueDifference>,
}

/// A value that differs; `None` if a run has none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueDifference {
    pub field: String,
    /// The value in the run compared with.
    pub before: Option<Value>,
    /// The value in the run that is compared.
    pub after: Option<Value>,
}

impl RunDiff {
    /// Creates the differences between two runs.
    pub(super) fn new([before, after]: [&RunRecord; 2], parts: Vec<DifferingPart>) -> Self {
        let identity = |record: &RunRecord| RunIdentity {
            run: record.run.id.clone(),
            plan: record.run.plan.clone(),
            created: record.run.created,
            life: record.life,
        };
        Self { v: DIFF_VERSION, before: identity(before), after: identity(after), parts }
    }

    /// True if nothing differs but durations.
    pub fn is_same(&self) -> bool {
        self.values().all(|value| value.field == DURATION)
    }

    /// Returns the number of values that differ.
    pub fn count(&self) -> usize {
        self.values().count()
    }

    fn values(&self) -> impl Iterator<Item = &ValueDifference> {
        self.parts.iter().flat_map(|part| &part.entries).flat_map(|entry| &entry.values)
    }

    pub fn document(&self) -> Value {
        let mut document = json!(self);
        if let Some(fields) = document.as_object_mut() {
            fields.insert("same".into(), self.is_same().into());
        }
        document
    }

    /// Returns the document as JSON.
    pub fn json(&self) -> String {
        format!("{:#}\n", self.document())
    }
}
