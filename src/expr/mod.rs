//! Expressions and templates: one small total language.
//!
//! An *expression* (`when`, `for_each`) is a lookup, a comparison, `and`/`or`/`not`, or one of
//! the status functions. A *template* is text with expressions between `{{` and `}}`; a template
//! that is one expression and nothing else keeps the value's type.
//!
//! minijinja parses and evaluates; this module allows only the part of its grammar that has no
//! loops, no arithmetic, no filters and no side effects, and knows every [`Ref`] in advance, so
//! that a file's mistakes are found before anything runs.
//!
//! **Invariant:** an [`Expr`] or [`Template`] that was made refers only to names of the forms
//! that [`Ref`] lists. Whether those names exist is the business of `check`.

mod eval;
mod parse;
mod reference;
mod template;

pub use eval::{EvalError, Scope, truthy};
pub use parse::Expr;
pub use reference::{Ref, SpannedRef, StatusTest};
pub use template::Template;
