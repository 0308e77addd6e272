//! The JSON form of Sylk: a graph of prompts for agents, made into workflow files.
//!
//! ```text
//! JSON ──▶ [`form`] (unknown keys, wrong types) ──▶ [`order`] (ids, cycles, layers) ──▶ [`text`] (files and notes)
//! ```
//!
//! Each node becomes a plan without steps, and a dag uses them. Everything is decided here; the command writes the files.
//!
//! **Invariant:** a key either has an effect in the files, or a note saying why it has none.
//! **Invariant:** `depends_on` alone decides the order; an `execution_order` saying another one is refused.

mod form;
mod import;
mod order;
mod text;

#[cfg(test)]
mod tests;

pub use import::{SylkFile, SylkImport, SylkMistake, import_sylk};
