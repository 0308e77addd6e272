//! What a skill must not have in it, found without executing any of it (Silas 10.4, step 2).
//!
//! [`inspect()`] gives every [`Issue`] of a skill's files, by rule and place, in three classes: a
//! danger refuses the install, an undeclared need is asked for, and the rest is told. [`report()`]
//! puts them into the install report, which the same bytes always make the same.
//!
//! Pure. These rules find what is careless or crude; what a script can really do is bounded by the
//! sandbox that it runs in. **Invariant:** no message holds what looks like a credential.

mod flow;
mod front;
#[expect(
    clippy::module_inception,
    reason = "to inspect is what the module is about"
)]
mod inspect;
mod issue;
mod paths;
mod prose;
mod python;
mod report;
mod rule;
mod rules;
mod shell;
#[cfg(test)]
mod tests;
mod texts;

pub use inspect::{Case, Language, inspect, language};
pub use issue::{Issue, Told};
pub use report::{REPORT_VERSION, report, report_digest, report_text};
pub use rule::{Class, Rule};
pub use rules::private;
pub use texts::{Detect, Seen};
