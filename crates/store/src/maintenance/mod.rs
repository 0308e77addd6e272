//! The maintenance of a state as a whole: pruning, backups, upgrades, the search for faults.
//!
//! - Limits: `prune` removes runs, `artifact_limit` stored files, and neither what other work needs.
//! - Copies: `backup` and `restore`, with `carry` for what restoring does not undo; `upgrade` from an earlier version.
//! - Faults: `examine` compares the schema, the bodies (`bodies`) and the projections.
//!
//! **Invariant:** the transaction that prunes a run records it in the log; a restored state is complete and verified before it
//! replaces another.
//!
//! Start at `prune`, then `backup` and `examine`.

pub(crate) mod artifact_limit;
pub(crate) mod backup;
pub(crate) mod bodies;
pub(crate) mod carry;
pub(crate) mod examine;
pub(crate) mod prune;
pub(crate) mod restore;
pub(crate) mod upgrade;
