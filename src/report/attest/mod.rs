//! What a run proved, as a statement that others can check: an in-toto statement (version 1) about
//! the files that it left.
//!
//! It says by which texts the run went, what was checked, how, and what was ruled; of what may
//! not be for everybody (parameters, what checks printed) it has digests alone.
//!
//! **Invariant:** the same record makes the same statement, to the byte.

mod predicate;
mod rounds;
mod statement;

pub use predicate::{
    AttemptSaid, File, PlanSaid, Predicate, RunSaid, StaleSaid, StepSaid, Text, VerdictSaid,
};
pub use statement::{PAYLOAD, PREDICATE, Statement, Subject, Told, statement};
