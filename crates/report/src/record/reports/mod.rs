//! The reports about a record: as text, as JSON, and in the formats of other programs.
//!
//! ```text
//! wf runs ──▶ runs       wf show ──▶ show, folded ──▶ findings       wf why ──▶ why, taint
//! the end of a run ──▶ summary                                       other programs ──▶ junit, otlp
//! ```
//!
//! A report computes nothing beyond the record. **Invariant:** untrusted text is shown as such, and
//! controls no terminal.
//!
//! Start at `show`, then `why`.

pub(super) mod findings;
mod folded;
pub(super) mod junit;
pub(super) mod otlp;
pub(super) mod runs;
pub(super) mod show;
pub(super) mod summary;
pub(super) mod taint;
pub(super) mod why;
