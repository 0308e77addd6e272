//! Memory in a run: the advice that it has for a run that begins, what agents search in it and add to it, and the records
//! that follow from the rounds of a run and from the decisions of people.
//!
//! **Invariant:** memory advises, and decides nothing: what a run took from it is in the events of the run.
//! **Invariant:** a record that is written twice, as after a crash, is there once.
//!
//! Start at `records`.

pub(crate) mod preferences;
pub(crate) mod records;
