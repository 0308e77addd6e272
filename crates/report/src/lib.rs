//! The output for users and other programs: text, tables, pictures, documents.
//!
//! Everything here takes rows, events or diagnostics and returns text. Text for users always
//! carries colour as ANSI styles; the caller strips them where they are unwanted. Text for programs
//! never does.
//!
//! - [`follow`]: a run in progress, as the [`Observer`](wf_core::observe::RunObserver)s of the engine.
//! - [`card`]: a request for an approval or an answer, as a card.
//! - [`record`]: a run as recorded in the store.
//! - [`session`]: a session of the workspace, as far as it has come.
//! - [`locks`]: the locks and permits for tasks.
//! - [`replay`]: a run and its replay, compared.
//! - [`metrics`]: the counts of a workspace, for dashboards.
//! - [`mistakes`]: diagnostics as text, JSON, SARIF and annotations.
//! - [`draw`]: a plan as a picture.
//! - [`attest`]: the result of a run, as a statement for third parties.
//! - [`consent`]: everything a plan will do, for its approver.
//! - [`diff`]: the changes in meaning between two versions of a plan.
//! - [`run_diff`]: the differences between two runs.
//!
//! **Invariant:** nothing here opens a file, reads a clock or knows the command line.

pub mod attest;
mod budget;
pub mod card;
pub mod consent;
pub mod decision;
pub mod diff;
pub mod draw;
pub mod follow;
mod forecast;
mod gated;
mod hint;
mod lines;
pub mod locks;
pub mod metrics;
pub mod mistakes;
pub mod moves;
mod names;
pub mod questions;
pub mod record;
pub mod replay;
pub mod rounds;
pub mod run_diff;
pub mod session;
mod solved;
mod table;
mod unified;
mod words;

pub use budget::{limits_line, threshold_text, usage_line};
pub use forecast::{Forecast, StepForecast};
pub use gated::{gate_result_json, gate_result_text, lane};
pub use lines::goal_name;
pub use names::ItemNames;
pub use solved::{decision_json, decision_text};
pub use table::{ColumnAlign, TextTable};
pub use unified::unified_diff;
pub use words::{certainty_counts, counts_text, outcome_style, state_style, state_word};
