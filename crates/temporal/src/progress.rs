//! A run between two workflows: the state that the next one goes on with.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use wf_base::time::Moment;
use wf_core::machine::{Attempt, MachineState};

use crate::lock_claims::LockClaims;
use crate::objects::ObjectError;
use crate::order::LogRef;
use crate::tree::{TreeHistory, TreeRef};

/// A run as it is stored while its history begins anew.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredProgress {
    pub(crate) state: MachineState,
    pub(crate) log: LogRef,
    pub(crate) tree: TreeRef,
    pub(crate) history: TreeHistory,
    pub(crate) next_key: u64,
    pub(crate) hosts: Vec<(Attempt, String)>,
    pub(crate) unbegun: BTreeSet<Attempt>,
    pub(crate) tokens: BTreeMap<u32, Vec<String>>,
    #[serde(default)]
    pub(crate) locks: LockClaims,
    pub(crate) now: Moment,
}

/// The reason why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The object store does not do what it should.
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// The plan of the run cannot be read by this version.
    #[error("the plan of the run cannot be read by this version of wf")]
    Plan,
    /// The driver is not open: nothing asks it before that.
    #[error("the run has not begun")]
    Closed,
    /// The run begins with other events than recorded: another version recorded them.
    #[error("the run begins otherwise than recorded; use workers of the version of wf that started it")]
    Opening,
    /// The state was stored by another version, or is damaged.
    #[error(transparent)]
    State(#[from] wf_core::machine::RestoreError),
}
