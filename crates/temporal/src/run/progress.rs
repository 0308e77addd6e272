//! A run between two workflows: the state the next one goes on with.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use wf_base::time::Moment;
use wf_core::machine::{Attempt, LOGIC_VERSION, LogicMismatch, MachineState, RestoreError, TaskId};

use crate::{
    files::{findings::FindingHistory, objects::ObjectError, tree::TreeRef},
    locks::{file_claims::FamilyClaims, lock_claims::LockClaims},
    messages::order::LogRef,
    run::driven_run::RunNesting,
};

/// A run and those nested in it, as they are stored while their history begins anew.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredProgress {
    /// The runs under way: each after the one it is nested in.
    pub(crate) runs: Vec<StoredRun>,
    pub(crate) log: LogRef,
    pub(crate) tree: TreeRef,
    pub(crate) history: FindingHistory,
    pub(crate) claims: FamilyClaims,
    pub(crate) locks: LockClaims,
    pub(crate) next_key: u64,
    pub(crate) now: Moment,
}

/// One of these runs.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredRun {
    pub(crate) nesting: Option<RunNesting>,
    pub(crate) state: MachineState,
    pub(crate) hosts: Vec<(Attempt, String)>,
    #[serde(default)]
    pub(crate) makers: Vec<(TaskId, String)>,
    pub(crate) unbegun: BTreeSet<Attempt>,
    pub(crate) tokens: BTreeMap<u32, Vec<String>>,
}

/// Refuses a run that began with other rules than those of this version: what was decided about it would be decided otherwise.
pub(crate) fn require_own_rules(logic_version: u32) -> Result<(), DriverError> {
    match logic_version {
        LOGIC_VERSION => Ok(()),
        recorded_version => Err(RestoreError::Logic(LogicMismatch { recorded_version }).into()),
    }
}

/// The reason why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The object store does not behave as it should.
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// The plan of the run cannot be read by this version.
    #[error("the plan of the run cannot be read by this version of wf")]
    Plan,
    /// The driver is not open: nothing asks it before.
    #[error("the run has not begun")]
    Closed,
    /// The run begins with other events than recorded: another version recorded them.
    #[error("the run begins otherwise than recorded; use workers of the version of wf that started it")]
    Opening,
    /// The state was stored by another version, or is damaged.
    #[error(transparent)]
    State(#[from] RestoreError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_goes_on_with_the_rules_that_it_began_with() {
        assert!(require_own_rules(LOGIC_VERSION).is_ok());
        let refused = require_own_rules(LOGIC_VERSION + 1).unwrap_err();
        assert!(matches!(refused, DriverError::State(RestoreError::Logic(_))), "{refused}");
    }
}
