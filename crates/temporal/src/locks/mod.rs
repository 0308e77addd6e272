//! The rights of tasks to names and to files, as pure state: one task has a right, others wait for it.
//!
//! A named lock is shared by all runs of a namespace: its queue ([`queue`]) is a workflow of its own, and a run has its side
//! of it (`lock_claims`). Files are shared by the runs of one workspace, under one driver (`file_claims`).
//!
//! **Invariant:** messages may come twice, late or in another order, and no two tasks have the same right at the same time.
//!
//! Start at [`queue`].

pub(crate) mod file_claims;
pub(crate) mod lock_claims;
pub mod queue;
