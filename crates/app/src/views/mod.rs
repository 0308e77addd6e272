//! The views of a workspace that pages show: documents, each a projection of its state at one moment.
//!
//! Their shapes are those of `wf runs --json`, `wf show --json` and `wf goal list --json`, as far as these have
//! them. A workspace without a state has empty views.
//!
//! **Invariant:** nothing here changes the state.

mod diff;
mod goals;
mod graph;
mod history;
mod log;
mod metrics;
mod requests;
mod run;
mod runs;
mod state;
mod stream;

pub use diff::{run_before, run_diff_of};
pub use goals::{GoalListing, goal_listings};
pub use graph::RunGraph;
pub use history::{GoalHistoryEntry, GoalView, UpcomingSlot, goal_history, goal_view};
pub use log::{LogFeed, LogPart, LogStart, LogTailView, log_feed};
pub use metrics::metrics_text;
pub use requests::{RequestView, ShownValue, open_requests};
pub use run::{RunView, StepFilter, TaskView, run_view, task_view};
pub use runs::{RunPage, RunQuery, run_documents, run_page};
pub use state::{find_run, log_end, state_reader};
pub use stream::{StreamView, stream_view};
pub use wf_report::metrics::{MetricsFormat, WorkspaceMetrics};
