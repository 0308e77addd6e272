//! Programs of steps, checks and gates, and their rights.
//!
//! A program runs in a sandbox with permissions and limits ([`sandbox`]), gets variables and secrets ([`script`]), and an agent
//! fetches from declared hosts alone ([`fetch_host`]). A script of a skill takes typed arguments ([`skill`]).
//!
//! **Invariant:** a right that is not declared is not given.
//!
//! Start at [`script`], then [`sandbox`].

pub(crate) mod fetch_host;
pub(crate) mod sandbox;
pub(crate) mod script;
pub(crate) mod skill;
