//! Everything a plan will do, for its approver.
//!
//! A [`PlanSummary`] is a list of [`SummaryLine`]s, one per thing: a script, a permission, an expectation, a
//! bound. [`consent`] formats it as text, and [`diff`](super::diff) compares two of them.
//!
//! **Invariant:** nothing of the model is left out. The lines follow from tables beside the declarations
//! ([`wf_model::summary`]), and a test demands every key of the language's JSON schema. Irrelevant keys are
//! listed there, with reasons.
//! **Invariant:** the content is shown as it is: no text is cut, and invisible characters, or
//! characters changing how others are displayed, are written as `⟨U+202E⟩` and counted.
//! **Invariant:** the list grows with the files; a plan used twice is shown once.

mod line;
#[cfg(test)]
pub(super) mod tests;
mod text;

pub use line::{PlanSummary, WorkspaceSettings};
pub use text::consent;
pub(super) use text::drawn;
pub use wf_model::summary::{RiskDirection, SummaryLine, SummaryLineKind};
