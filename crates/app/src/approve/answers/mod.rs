//! The answers of people to a waiting run: its requests, one of them shown, and the answer to it signed and recorded.
//!
//! ```text
//! questions: all requests of a run ──▶ answer: one, shown and signed here ──▶ decided: which answers to it count
//!                                      remote: one, signed by a key elsewhere ──▶ the same
//! ```
//!
//! **Invariant:** an answer counts only for the request and the evidence shown with it.
//! **Invariant:** a run is told nothing: it finds the answer in the state.
//!
//! Start at `answer`.

pub(super) mod answer;
mod decided;
pub(super) mod form;
pub(super) mod questions;
pub(super) mod remote;
