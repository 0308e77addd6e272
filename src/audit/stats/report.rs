use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Drift, GapTrend, PlanSums, Streaks, Thrash};
use crate::time::Moment;

/// What was seen in a window (artoo, R6).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Report {
    /// Why it was made.
    pub trigger: Trigger,
    /// The first record of the window, by its number; 0: there is none.
    pub from: u64,
    /// The last one.
    pub to: u64,
    /// When the first thing in it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_start: Option<Moment>,
    /// When the last thing in it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_end: Option<Moment>,
    /// How many runs began and ended, nested ones too.
    pub runs: Runs,
    /// How many places ended: steps, and items of repeated steps. One that ends again in a later
    /// round is counted once.
    pub tasks_observed: u64,
    /// How many attempts were told what was wrong with the one before.
    pub total_corrections: u64,
    /// How the gap went where a place was judged more than once.
    pub gap_trends: Vec<GapTrend>,
    /// Work that is repeated without coming nearer to its end.
    pub thrashing: Vec<Thrash>,
    /// What no role may cause.
    pub boundary_violations: Vec<String>,
    /// Plans that do worse, or take longer, than they did.
    pub drift: Vec<Drift>,
    /// How the tools did.
    pub tool_health: ToolHealth,
    /// What gates ruled.
    pub gates: Gates,
    /// What became of approvals.
    pub approvals: Approvals,
    /// How many messages an auditor was too slow for.
    pub lost: u64,
    /// How many events were read in the database because no auditor heard of them.
    pub read_later: u64,
    /// What each plan did in all windows up to the end of this one, which later windows are
    /// compared with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub history: BTreeMap<String, PlanSums>,
    /// The rounds at the end of this window that later ones may follow with the same directive.
    #[serde(default, skip_serializing_if = "Streaks::is_empty")]
    pub rounds: Streaks,
}

/// Why a report was made.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// Somebody asked.
    #[default]
    OnDemand,
    /// The window was full.
    Periodic,
    /// The auditor's process ended.
    End,
}

/// How many runs began and ended.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Runs {
    /// Began.
    pub started: u64,
    /// Ended well.
    pub succeeded: u64,
    /// Failed.
    pub failed: u64,
    /// Were abandoned: they failed, and the controller tried nothing more.
    #[serde(default)]
    pub abandoned: u64,
    /// Were cancelled.
    pub cancelled: u64,
    /// Were not begun, for a reason that is recorded.
    pub refused: u64,
}

/// How the tools did.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct ToolHealth {
    /// Attempts whose work failed.
    pub execution_failures: u64,
    /// Attempts that followed one which failed by the surroundings' fault.
    pub environmental_retries: u64,
    /// Attempts that followed one which failed by the work's own fault.
    pub logical_retries: u64,
}

/// What gates ruled.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Gates {
    /// How often one was asked.
    pub judged: u64,
    /// How often one blocked.
    pub blocked: u64,
}

/// What became of approvals.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Approvals {
    /// Asked for.
    pub asked: u64,
    /// Given.
    pub given: u64,
    /// Denied.
    pub denied: u64,
    /// Not answered in time.
    pub expired: u64,
}
