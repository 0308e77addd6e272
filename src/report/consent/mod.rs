//! Everything that a plan will do, for somebody who decides whether it may.
//!
//! A [`Consent`] is a list of [`Line`]s, one a thing: a script, a permission, an expectation, a
//! bound. [`consent`] writes it for a person, and [`diff`](super::diff) compares two of them.
//!
//! **Invariant:** nothing of the model is left out. Every struct of it is taken apart here without
//! `..`, so that a new field does not compile before it is shown; and a test walks the JSON schema
//! of the language and asks for every key. What is said not to matter is said there, with why.
//! **Invariant:** what is shown is what is there: no text is cut, and characters that do not show,
//! or that change how others show, are written as `⟨U+202E⟩` and counted.
//! **Invariant:** the list grows with the files; a plan that is used twice is shown once.

mod budget;
mod check;
mod exact;
mod gate;
mod goal;
mod line;
mod plan;
mod replan;
mod sheet;
mod spoken;
mod step;
#[cfg(test)]
pub(super) mod tests;
mod text;
mod work;

pub use line::{Consent, House, Kind, Line, Sense};
pub use text::consent;
pub(super) use text::drawn;

use sheet::Sheet;
