//! The views of a run: what is above all its tabs, and what the chosen one shows.
//!
//! A run may have 25,000 steps, so nothing is read for a tab that is not shown. `timeline`, `graph`, `steps`, `files` and
//! `about` have the tabs; `content` is what is in a file; `failure` has what a person looks for first, and `task` the page of a step. `watch` is what a
//! terminal shows of a run that goes on.
//!
//! **Invariant:** the content of a tab is in one field of [`RunView`], or in the record for what `wf show` has too.

mod about;
mod content;
mod failure;
mod files;
mod graph;
mod steps;
mod task;
mod timeline;
mod view;
mod waits;
mod watch;

pub use about::{RunAbout, RunSource};
pub use content::{ArtifactImage, FileTable, FileText, artifact_image, file_text};
pub(super) use failure::failure_line;
pub use failure::{FailureGroup, FailureTask, RunFailures};
pub use files::{FileRow, RunFileList};
pub use graph::RunGraph;
pub(super) use graph::{critical_steps, times_of};
pub use steps::{RunSteps, UnbegunStep};
pub use task::{TaskItem, TaskView, task_view};
pub use timeline::TimelineView;
pub use view::{RunSelection, RunTab, RunView, run_view};
pub use watch::{RunWatcher, WatchQuery, WatchedRequest, WatchedRun, WatchedStep};
