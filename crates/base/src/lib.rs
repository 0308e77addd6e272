//! The words that every other crate of `wf` uses: names, digests, times, source text and diagnostics.
//!
//! **Invariant:** nothing here knows of plans, runs or the disk, and nothing waits. What reaches a terminal
//! passes [`untrusted`]; what reaches a log or a record passes [`redact`] first.

pub mod diag;
pub mod digest;
pub mod duration_text;
pub mod exact_json;
pub mod failpoint;
pub mod keyword;
pub mod name;
pub mod program;
pub mod redact;
pub mod remedy;
pub mod source;
mod text_form;
pub mod time;
pub mod units;
pub mod untrusted;
pub mod yaml;
