//! Values from outside that reach where they could do harm.
//!
//! The model of the files says how far each value is trusted ([`taint`](crate::model::taint)); the
//! files say where it is read. Together they give a warning at every place in which an external
//! value becomes part of what is executed, opened, asked or decided.
//!
//! A value whose schema lets nothing through that means something to a shell, a path or an address
//! is left alone: the engine enforces the schema. There is no way to silence a warning but to make
//! it untrue.
//!
//! **Invariant:** only files without mistakes are looked at, each once.

mod bound;
mod lint;
mod site;

pub(super) use lint::check;
