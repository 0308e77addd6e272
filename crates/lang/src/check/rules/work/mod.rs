//! Rules about the work of steps, a kind of work or a setting each.
//!
//! **Invariant:** a rule for one kind of work says nothing about the others.
//!
//! Start at `uses` and `skills`, the comparisons of a step with the declaration of another file; then `agents`, `gates`, and
//! `settings` for the rest.

pub(super) mod agents;
pub(super) mod gates;
pub(super) mod settings;
pub(super) mod skills;
pub(super) mod uses;
