//! Statistics: the patterns in a stretch of the audit log.
//!
//! A [`ReportWindow`] is a fold over records and nothing else: it reads no clock and no file, so its results
//! are the same after a restart.

mod drift;
mod place;
mod report;
mod rounds;
mod runs;
#[cfg(test)]
mod tests;
mod window;

pub use crate::records::unseen::UnconfirmedEvents;
pub use drift::{PlanDrift, PlanSums};
pub use place::{FailureTrend, GapTrend, ThrashPattern};
pub use report::{ApprovalCounts, AuditReport, GateCounts, ReportTrigger, RunCounts, ToolHealth};
pub use rounds::{RoundStreak, RoundStreaks};
pub use window::ReportWindow;
