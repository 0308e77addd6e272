//! Statistics: what patterns there are in a stretch of the audit log.
//!
//! A [`Window`] is a fold over records and nothing else: it reads no clock and no file, so that what
//! it says after a restart is what it would have said without one.

mod drift;
mod place;
mod report;
mod rounds;
mod runs;
#[cfg(test)]
mod tests;
mod unseen;
mod window;

pub use drift::{Drift, PlanSums};
pub use place::{GapTrend, Thrash, Trend};
pub use report::{Approvals, Gates, Report, Runs, ToolHealth, Trigger};
pub use rounds::{Streak, Streaks};
pub use unseen::Unseen;
pub use window::Window;
