//! The classes of failures, and the retries that follow from them.
//!
//! A class comes from the exit of a process by the rules of a step ([`rule`]), or from a cause in the engine
//! ([`engine_failure`]). A retry policy names the classes that another attempt may help ([`retry`]).
//!
//! **Invariant:** a failure of the engine is no evidence about the work.
//!
//! Start at [`retry`].

pub(crate) mod engine_failure;
pub(crate) mod retry;
pub(crate) mod rule;
