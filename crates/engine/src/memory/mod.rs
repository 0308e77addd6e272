//! Memory in a run: the advice that it has for a run that begins, what agents search in it and add to it, and the records
//! that follow from the rounds of a run and from the decisions of people.
//!
//! **Invariant:** memory advises, and decides nothing: what a run took from it is in the events of the run.
//! **Invariant:** a record is written once its event is durable, and to write it twice is to write it once.
//!
//! Start at `records`.

pub(crate) mod preferences;
pub(crate) mod records;
