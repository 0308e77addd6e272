use serde::{Deserialize, Serialize};

use super::IsolationKind;
use crate::judgement::Judgement;
use crate::test_report::TestCounts;
use wf_base::keywords;
use wf_base::name::Name;
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
    /// The probe's output, at most [`REASON_LIMIT`](super::REASON_LIMIT) characters.
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
    /// first [`HIDDEN_LIMIT`] of them. A folder stands for all that is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
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

impl CheckVerdict {
    /// Describes the expected and the actual result in one sentence; empty if it passed.
    pub fn mismatch(&self) -> String {
        super::feedback::mismatch(&self.expected, &self.found)
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

/// The maximum number of hidden paths that a verdict names.
pub const HIDDEN_LIMIT: usize = 16;

keywords! {
    /// A ruling. A check that cannot run rules `error`, which is never a pass.
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
