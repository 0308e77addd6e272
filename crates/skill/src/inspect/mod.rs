//! Forbidden content in a skill, found without executing any of it (Silas 10.4, step 2).
//!
//! [`inspect()`] returns every [`InspectionIssue`] of a skill's files, by rule and location, in three
//! classes: a danger refuses the install, an undeclared need asks for a grant, and the rest is
//! reported. [`report()`] assembles the install report, the same for the same bytes.
//!
//! A file is read by three readers, none of which executes or expands anything: `shell` finds commands and their
//! words, `python` finds tokens, calls and imports (of JavaScript and others only tokens), and `prose` finds
//! passages. Over them work `rules`, which judge one command or call at a time, and `flow`, which follows values
//! through the whole skill. A rule without code of its own is a row in `tables`: programs, patterns, words.
//!
//! The readers are our own, because a parser of a whole grammar (such as `brush-parser`) gives an error for a text
//! against the grammar, and an inspection must read it all the same.
//!
//! Pure. These rules find careless or crude mistakes; the actual abilities of a script are limited
//! by its sandbox. **Invariant:** no message holds text with the look of a credential.

mod flow;
mod front;
#[expect(clippy::module_inception, reason = "to inspect is what the module is about")]
mod inspect;
mod issue;
mod paths;
mod prose;
mod python;
mod report;
mod rule;
mod rules;
mod shell;
mod tables;
#[cfg(test)]
mod tests;
mod texts;

pub use inspect::{InspectionInput, ScriptLanguage, inspect, language};
pub use issue::{InspectionIssue, IssueRecord};
pub use report::{REPORT_VERSION, report, report_digest, report_text};
pub use rule::{IssueClass, Rule};
pub use rules::private_content;
pub use texts::{DetectorHit, TextDetector};
