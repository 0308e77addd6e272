use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{GapTrend, PlanDrift, PlanSums, RoundStreaks, ThrashPattern};
use wf_base::time::Moment;

/// A report on a window (artoo, R6).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AuditReport {
    /// The reason for the report.
    pub trigger: ReportTrigger,
    /// The number of the first record of the window; 0: there is none.
    pub from: u64,
    /// The number of the last record.
    pub to: u64,
    /// The time of the first record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_start: Option<Moment>,
    /// The time of the last record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_end: Option<Moment>,
    /// The number of runs that began and ended, including nested ones.
    pub runs: RunCounts,
    /// The number of tasks that ended: steps, and items of repeated steps. A task that ends again
    /// in a later round is counted once.
    pub tasks_observed: u64,
    /// The number of attempts that were given the failures of the one before.
    pub total_corrections: u64,
    /// The trend of the gap for tasks judged more than once.
    pub gap_trends: Vec<GapTrend>,
    /// Work that is repeated without progress.
    pub thrashing: Vec<ThrashPattern>,
    /// Events that no role may cause.
    pub boundary_violations: Vec<String>,
    /// Plans that do worse, or take longer, than before.
    pub drift: Vec<PlanDrift>,
    /// The health of the tools.
    pub tool_health: ToolHealth,
    /// The rulings of gates.
    pub gates: GateCounts,
    /// The outcomes of approvals.
    pub approvals: ApprovalCounts,
    /// The number of messages that an auditor was too slow for.
    pub lost: u64,
    /// The number of events read from the database because no auditor heard of them.
    pub read_later: u64,
    /// The sums of each plan over all windows up to the end of this one, for comparison with later
    /// windows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub history: BTreeMap<String, PlanSums>,
    /// The rounds at the end of this window that later ones may follow with the same directive.
    #[serde(default, skip_serializing_if = "RoundStreaks::is_empty")]
    pub rounds: RoundStreaks,
}

/// The reason for a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportTrigger {
    /// The user asked.
    #[default]
    OnDemand,
    /// The window was full.
    Periodic,
    /// The auditor's process ended.
    End,
}

/// The number of runs that began and ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunCounts {
    /// The number of runs that began.
    pub started: u64,
    /// The number that succeeded.
    pub succeeded: u64,
    /// The number that failed.
    pub failed: u64,
    /// The number abandoned: they failed, and the controller tried nothing more.
    #[serde(default)]
    pub abandoned: u64,
    /// The number cancelled.
    pub cancelled: u64,
    /// The number not started, for a recorded reason.
    pub refused: u64,
}

/// The health of the tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolHealth {
    /// The number of attempts whose work failed.
    pub execution_failures: u64,
    /// The number of attempts after an environmental failure.
    pub environmental_retries: u64,
    /// The number of attempts after a logical failure.
    pub logical_retries: u64,
}

/// The rulings of gates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GateCounts {
    /// The number of gates asked.
    pub judged: u64,
    /// The number of gates that blocked.
    pub blocked: u64,
}

/// The outcomes of approvals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ApprovalCounts {
    /// The number asked for.
    pub asked: u64,
    /// The number given.
    pub given: u64,
    /// The number denied.
    pub denied: u64,
    /// The number that expired.
    pub expired: u64,
}
