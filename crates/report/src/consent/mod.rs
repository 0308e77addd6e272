//! Everything that a plan will do, for the approver who decides on it.
//!
//! A [`PlanSummary`] is a list of [`SummaryLine`]s, one per thing: a script, a permission, an expectation, a
//! bound. [`consent`] formats it as text, and [`diff`](super::diff) compares two of them.
//!
//! **Invariant:** nothing of the model is left out. The lines follow from tables beside the declarations
//! ([`wf_model::summary`]), and a test demands every key of the language's JSON schema. Keys that do not matter
//! are listed there, with reasons.
//! **Invariant:** the content is shown as it is: no text is cut, and invisible characters, or
//! characters that change how others are displayed, are written as `⟨U+202E⟩` and counted.
//! **Invariant:** the list grows with the files; a plan that is used twice is shown once.

mod line;
#[cfg(test)]
pub(super) mod tests;
mod text;

pub use line::{PlanSummary, WorkspaceSettings};
pub use text::consent;
pub(super) use text::drawn;
pub use wf_model::summary::{RiskDirection, SummaryLine, SummaryLineKind};
