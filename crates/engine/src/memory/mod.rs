//! Memory in a run: the advice it has for a run that begins, what agents search in it and add to it, and the records
//! following from the rounds of a run and from the decisions of people.
//!
//! **Invariant:** memory advises, and decides nothing: what a run took from it is in the events of the run.
//! **Invariant:** a record written twice, as after a crash, is there once.
//!
//! Start at `records`.

pub(crate) mod preferences;
pub(crate) mod records;
