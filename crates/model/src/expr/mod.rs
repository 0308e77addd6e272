//! Expressions and templates: one small total language.
//!
//! An *expression* (`when`, `for_each`) is a lookup, a comparison, `and`/`or`/`not`, or one of
//! the status functions. A *template* is text with expressions between `{{` and `}}`; a template
//! of one expression and nothing else keeps the value's type.
//!
//! The parser is minijinja's; this module allows only the part of its grammar with no loops, no
//! arithmetic, no filters and no side effects, and knows every [`ExprReference`] in advance, so a file's
//! mistakes are found before anything runs. The allowed part becomes a small tree, whose evaluation
//! takes time in the size of the expression and of the values read.
//!
//! **Invariant:** an [`Expr`] or [`Template`] refers only to names of the forms [`ExprReference`] lists.
//! `check` decides whether those names exist.

mod decide;
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

pub use node::{EvalError, ExprScope, PathKey, truthy};
pub use parse::Expr;
pub use reference::{BlockField, ExprReference, SpannedReference, StatusFunction};
pub use script::{ScriptReference, templates_in_script};
pub use template::Template;
