//! The classes of failures, and the retries following from them.
//!
//! A class comes from the exit of a process, by the rules of its step ([`retry`]), or from a cause in the engine
//! ([`engine_failure`]). A retry policy lists the classes for another attempt.
//!
//! **Invariant:** a failure of the engine is no evidence about the work.
//!
//! Start at [`retry`].

pub(crate) mod engine_failure;
pub(crate) mod retry;
