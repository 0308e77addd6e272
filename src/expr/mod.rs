//! Expressions and templates: one small total language.
//!
//! An *expression* (`when`, `for_each`) is a lookup, a comparison, `and`/`or`/`not`, or one of
//! the status functions. A *template* is text with expressions between `{{` and `}}`; a template
//! that is one expression and nothing else keeps the value's type.
//!
//! minijinja parses; this module allows only the part of its grammar that has no loops, no
//! arithmetic, no filters and no side effects, and knows every [`Ref`] in advance, so that a
//! file's mistakes are found before anything runs. What is allowed becomes a small tree of its
//! own, whose evaluation takes time in the size of the expression and of the values read.
//!
//! **Invariant:** an [`Expr`] or [`Template`] that was made refers only to names of the forms
//! that [`Ref`] lists. Whether those names exist is the business of `check`.

mod decide;
mod eval;
mod foreign;
mod lower;
mod names;
mod node;
mod parse;
mod reference;
mod script;
mod template;
#[cfg(test)]
mod tests;

pub use eval::{EvalError, Scope, truthy};
pub use parse::Expr;
pub use reference::{Ref, SpannedRef, StatusTest};
pub use script::{ScriptRead, templates_in_script};
pub use template::Template;
