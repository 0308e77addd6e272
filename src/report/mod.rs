//! What people and other programs are shown: text, tables, pictures, documents.
//!
//! Everything here is rows, events or diagnostics in and text out. Text for people carries
//! colour as ANSI styles, always; the face strips them where they are not wanted. Text for
//! programs never does.
//!
//! - [`follow`]: a run while it goes on, as the [`Observer`](crate::engine::Observer)s of the
//!   engine.
//! - [`record`]: a run as the store remembers it.
//! - [`mistakes`]: diagnostics as text, JSON, SARIF and annotations.
//! - [`draw`]: a plan as a picture.
//! - [`attest`]: what a run proved, as a statement for others.
//! - [`consent`]: everything that a plan will do, for somebody who decides whether it may.
//! - [`diff`]: what changes in meaning between two versions of a plan.
//!
//! **Invariant:** nothing here opens a file, reads a clock or knows the command line.

pub mod attest;
mod budget;
pub mod consent;
pub mod diff;
pub mod draw;
pub mod follow;
mod forecast;
mod gated;
mod hint;
mod lines;
pub mod mistakes;
pub mod moves;
mod names;
mod paint;
pub mod questions;
pub mod record;
pub mod rounds;
mod sites;
mod solved;
mod table;
mod units;
mod words;

pub use budget::{ledger, noticed};
pub use forecast::{Forecast, Foreseen};
pub use gated::{gated, gated_json, lane};
pub use lines::{goal_name, word};
pub use names::Names;
pub use paint::{BAD, BOLD, DIM, GOOD, NAME, WARN, paint, plain};
pub use sites::{Site, Sites};
pub use solved::{solved, solved_json};
pub use table::{Align, Table};
pub use units::{elapsed, first_line, fit, moment, plural, size};
pub use words::{believed, counts, outcome_style, state_style};
