//! The repair of an invalid answer by a program that works as an agent: once in an attempt, as of any other agent.
//!
//! The program is begun again, in the same attempt and with the same budget, and is told its answer and the mistake. The
//! fact that it is comes first, so that a crash neither loses the repair nor allows a second one.

use crate::machine::state::{Machine, TaskIx};
use crate::machine::words::{Attempt, ClientRepair, EventKind, InvalidAnswer};

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
