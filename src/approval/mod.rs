//! Approvals: who allowed what to run, said in a way that others can check and nobody can bend.
//!
//! A [`Statement`] names the plan and every file that it executes by digest, the parameters, how
//! long and how often it holds. It is signed by one approver or more as a [`Token`]: a DSSE
//! envelope around canonical JSON. [`check`](check()) tells whether a token allows a [`Subject`], which is
//! what is about to be done; [`verify`] does so, too, and says what is to be recorded, so that the
//! same approval is not used twice. Either answers with a [`Refusal`] that says why not. Silas
//! 5.8, 5.11, INV-01, INV-02.
//!
//! Pure: no clock, no files, no random bytes. **Invariant:** a token that was changed in any byte
//! allows nothing. **Invariant:** what is not signed decides nothing.

mod accept;
mod answer;
mod approvers;
mod check;
mod digests;
mod install;
mod refusal;
mod statement;
mod token;

#[cfg(test)]
mod attacks;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod forged;

pub use accept::{GoalContent, accepts};
pub use answer::{Decided, Quorum, decide, proposal};
pub use approvers::{Approver, Approvers, Policy, VALIDITY};
pub use check::{Consumption, SKEW, Spawned, Subject, Valid, allows, check, verify};
pub use digests::{Difference, SpawnPolicy, differences, plan_digest};
pub use install::{INSTALLER, SKILL_VALIDITY, install_params, installs};
pub use refusal::Refusal;
pub use statement::{Ask, Bound, Nonce, PlanRef, Scope, Statement, VERSION, Verdict};
pub use token::{PAYLOAD, Token};
