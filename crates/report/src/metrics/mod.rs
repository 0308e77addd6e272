//! The metrics of a workspace, counted from its log: for dashboards and alerts.
//!
//! **Invariant:** [`WorkspaceMetrics`] is a fold over rows of the log in their order and nothing else, so a server starting again
//! counts the same. Rows of runs that were pruned count no more once it does.

mod exposition;
mod workspace;

#[cfg(test)]
mod tests;

pub use exposition::{Exposition, MetricsFormat};
pub use workspace::WorkspaceMetrics;
