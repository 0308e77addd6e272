//! The judges of work: checks of a result, gates before and after it, approvals by people.
//!
//! A check ([`check`]) has a probe and an expectation, and runs in a phase of its step ([`phase`]); [`json_expect`] compares a
//! document with an expectation. A gate ([`gate`]) decides at a point of a run by a predicate, a script or a model. A person
//! approves or answers ([`approve`]); after repeated failures a plan escalates ([`escalation`]).
//!
//! **Invariant:** nothing here decides: a verdict is computed in the crate `core`.
//!
//! Start at [`check`], then [`gate`].

pub(crate) mod approve;
pub(crate) mod check;
pub(crate) mod escalation;
pub(crate) mod gate;
pub(crate) mod json_expect;
pub(crate) mod phase;
