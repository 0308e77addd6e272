//! The repair of an invalid answer by a program that works as an agent: once in an attempt, as of any other agent.
//!
//! The program is begun again, in the same attempt and with the same budget, and is told its answer and the mistake. The
//! fact that it is comes first, so that a crash neither loses the repair nor allows a second one.

use serde::{Deserialize, Serialize};

use crate::machine::event::EventKind;
use crate::machine::state::{MachineState, TaskIx};
use crate::machine::task_id::Attempt;
use crate::machine::turn::Machine;
use wf_base::digest::Sha256Digest;
use wf_model::Plan;

/// An answer that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InvalidAnswer {
    /// The mistake, in one sentence.
    pub mistake: String,
    /// The digest of the answer; absent: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Sha256Digest>,
}

/// A program is begun again to repair its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClientRepair {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The answer.
    #[serde(flatten)]
    pub invalid: InvalidAnswer,
}

/// A repair that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::machine) struct ClientRepairRecord {
    pub(in crate::machine) invalid: InvalidAnswer,
    /// The number of model calls before it.
    pub(in crate::machine) after: u32,
}

impl MachineState {
    /// Applies the fact that a program is begun again.
    pub(in crate::machine) fn begin_client_repair(&mut self, plan: &Plan, repair: &ClientRepair) {
        if let Some(record) = self.agent_record_mut(plan, &repair.attempt) {
            let (invalid, after) = (repair.invalid.clone(), record.call());
            record.client_repair = Some(Box::new(ClientRepairRecord { invalid, after }));
        }
    }
}

impl Machine {
    /// Lets the program of an agent repair its answer; false if it has tried before.
    pub(in crate::machine) fn repair_client(
        &mut self,
        task: TaskIx,
        attempt: &Attempt,
        invalid: InvalidAnswer,
    ) -> bool {
        let first = self.agent_record(task).is_some_and(|record| record.client_repair.is_none());
        if first {
            let attempt = attempt.clone();
            self.emit(EventKind::ClientRepairStarted(ClientRepair { attempt, invalid }));
        }
        first
    }
}
