//! The result of a run as a statement for third parties: an in-toto statement (version 1) about the
//! files it left.
//!
//! It names the texts of the plan, the checks, how they ran and their verdicts; of possibly
//! confidential data (parameters, output of checks) it has digests alone.
//!
//! **Invariant:** the same record gives the same statement, to the byte.

mod predicate;
mod statement;

pub use predicate::{
    AttestationPredicate, AttestedAttempt, AttestedFile, AttestedPlan, AttestedRun, AttestedStaleResult,
    AttestedStep, AttestedText, AttestedVerdict,
};
pub use statement::{
    AttestationInput, AttestationStatement, AttestationSubject, PAYLOAD, PREDICATE, attestation_statement,
};
