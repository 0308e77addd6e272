//! The calls of models: by agents, judges, gates and planners in a run, and by the authoring of plans outside of runs.
//!
//! ```text
//! ask ──▶ limits and budget ──▶ gateway, with the keys of the workspace ──▶ reply ──▶ bodies, usage, health
//! ```
//!
//! **Invariant:** a call of a run is refused before it is made, if no budget pays for it.
//! **Invariant:** what goes to a model, comes back, and is recorded has no secrets.
//!
//! Start at `call`; `asker` is the call of those asking one question, `keys` the way to the gateway.

pub(crate) mod asker;
pub(crate) mod bodies;
pub(crate) mod call;
pub(crate) mod health;
mod keys;
pub(crate) mod workspace;
