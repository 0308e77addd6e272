//! The verdicts of checks.

use serde::{Deserialize, Serialize};

use crate::{
    judgement::Judgement,
    machine::words::{IsolationKind, feedback::mismatch},
    test_report::TestCounts,
};
use wf_base::{keywords, name::Name};
use wf_model::{CheckCertainty, CheckPhase, FailureClass};

/// The ruling of a check on one criterion (DESIGN section 5; roles R4a: per criterion, never
/// holistic).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CheckVerdict {
    /// The criterion.
    pub name: Name,
    /// The phase of the criterion; absent: `verify`.
    #[serde(default, skip_serializing_if = "CheckPhase::is_default")]
    pub phase: CheckPhase,
    /// The ruling.
    pub ruling: CheckRuling,
    /// The expected result, in a few words; empty if it passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// The actual result, in a few words; empty if it passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
    /// The output of the check, at most 1,000 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evidence: String,
    /// The failure class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<FailureClass>,
    /// The duration, in milliseconds.
    pub duration_ms: u64,
    /// The verification mode of the criterion.
    #[serde(default, skip_serializing_if = "CheckCertainty::is_default")]
    pub certainty: CheckCertainty,
    /// The protections around its process; absent: nothing was run; empty: the sandbox was off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Vec<IsolationKind>>,
    /// The paths of the workspace hidden from its process, since they are new and undeclared: the
    /// first 16 of them. A folder stands for all its content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// The products present at the check and changed since the run began; absent: they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<ProductChanges>,
    /// The files named by the check and changed by a step, since `writes` names them, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_inputs: Vec<String>,
    /// The undeclared files changed beside the run; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_changes: Option<Box<ForeignChanges>>,
    /// True if the steps may change the whole workspace, and the check fixes no file: its pass is at most `reported`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unbounded: bool,
    /// The numbers of its test report, if it expects one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Box<TestCounts>>,
    /// The finding on the workspace before the work, if the check is run then, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<PriorFinding>>,
    /// The votes of models, if they judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Box<Judgement>>,
}

/// The files changed beside a run, as its check saw them: the first 16 of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ForeignChanges {
    /// The files shown to it in their state of the run's beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restored: Vec<String>,
    /// The files shown to it in their changed state: their former state is lost, and no step could have written them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub current: Vec<String>,
}

impl CheckVerdict {
    /// Describes the expected and the actual result in one sentence; empty if it passed.
    pub fn mismatch(&self) -> String {
        mismatch(&self.expected, &self.found)
    }

    /// True if the criterion passed.
    pub fn passed(&self) -> bool {
        self.ruling == CheckRuling::Pass
    }
}

/// The finding of a check on the workspace before the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PriorFinding {
    /// The ruling.
    pub ruling: CheckRuling,
    /// The reason, in a few words; empty if it passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
    /// The numbers of its test report; without a readable one nothing is counted.
    #[serde(default)]
    pub tests: TestCounts,
}

/// The maximum number of hidden paths in a verdict.
pub const HIDDEN_LIMIT: usize = 16;

/// The products of a step, changed, removed or created since the run began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProductChanges {
    /// The number of files.
    pub count: u64,
    /// The first eight of them, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<String>,
}

/// The maximum number of changed products in a verdict.
pub const CHANGES_LIMIT: usize = 8;

impl ProductChanges {
    /// Describes the changes in a few words: `changed: a.py, b.py and 3 more`.
    pub fn describe(&self) -> String {
        let shown = self.first.join(", ");
        match self.count.saturating_sub(u64::try_from(self.first.len()).unwrap_or(u64::MAX)) {
            0 if self.first.is_empty() => "no product changed".to_owned(),
            0 => format!("changed: {shown}"),
            more => format!("changed: {shown} and {more} more"),
        }
    }
}

keywords! {
    /// A ruling. A check unable to run rules `error`, never a pass.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum CheckRuling {
        /// The criterion passed.
        Pass = "pass",
        /// The criterion failed.
        Fail = "fail",
        /// The result is unknown.
        Error = "error",
    }
}
