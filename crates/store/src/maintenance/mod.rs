//! The care for a state as a whole: what is pruned, saved, restored, upgraded and examined.
//!
//! - Limits: `prune` removes runs, `artifact_limit` stored files, and neither what is `needed`.
//! - Copies: `backup` and `restore`, with `carry` for what restoring does not undo; `upgrade` from an earlier version.
//! - Faults: `examine` asks `schema`, `bodies` and the comparison of the projections.
//!
//! **Invariant:** what was pruned is recorded before it is removed; what is restored is complete before it replaces anything.
//!
//! Start at `prune`, then `backup` and `examine`.

pub(crate) mod artifact_limit;
pub(crate) mod backup;
pub(crate) mod bodies;
pub(crate) mod carry;
pub(crate) mod examine;
pub(crate) mod needed;
pub(crate) mod prune;
pub(crate) mod restore;
pub(crate) mod schema;
pub(crate) mod upgrade;
