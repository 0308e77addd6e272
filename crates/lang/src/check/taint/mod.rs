//! External values in places where they could do harm.
//!
//! The model of the files has the trust in each value ([`taint`](wf_model::taint)); the files
//! have the places reading it. Together they give a warning at every place where an external
//! value becomes part of something executed, opened, asked or decided.
//!
//! A value of a schema without text with a special meaning to a shell, a path or an address is
//! left alone: the engine enforces the schema. The only way to silence a warning is to make it
//! untrue.
//!
//! **Invariant:** only files without mistakes are checked, each once.

mod bound;
mod lint;
mod site;

pub(super) use bound::{any_item_of, part_of};
pub(super) use lint::check_taint;
