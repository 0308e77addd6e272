//! The commands to show plans and runs: as lists, reports, logs, graphs, differences and pages.
//!
//! **Invariant:** none of them changes the state. Start at `show`, then `why` and `logs`.

pub mod diff;
pub mod graph;
pub mod list;
pub mod logs;
pub mod replan;
pub mod runs;
pub mod serve;
pub mod show;
pub mod watch;
pub mod why;
