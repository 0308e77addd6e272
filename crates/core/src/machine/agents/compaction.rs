//! The compactor (Silas 5.7): a model that chooses which old turns of an agent's conversation stay, where turns are to
//! be omitted.
//!
//! It is asked once for a cut, and its answer is recorded before the request that relies on it. Without an answer
//! that may be used, the oldest turns are omitted. **Invariant:** no answer makes a conversation fit less, or an agent fail.

use crate::agent::GroupChoice;
use crate::machine::state::in_flight::TaskRequest;
use crate::machine::state::{Run, TaskIx};
use crate::machine::words::reason::truncate_reason;
use crate::machine::words::{
    CompactionEnd, CompactionOutcome, CompactionReply, CompactionRequest, CompactionStart, Effect, EventKind,
    ModelCallStart,
};

impl Run {
    /// Asks the compactor about a call that is to begin, if there is something to choose. True if it is being asked.
    pub(in crate::machine) fn ask_compactor(&mut self, task: TaskIx, start: &ModelCallStart) -> bool {
        let Some(record) = self.agent_record(task).filter(|record| record.compactor.is_some()) else {
            return false;
        };
        let known = record.compaction.as_ref().filter(|known| known.call == start.call);
        let groups = match known {
            Some(known) if known.is_open() => known.groups.clone(),
            Some(_) => return false,
            None => {
                let groups = record.groups(start);
                if groups.is_empty() || self.state.compactor.is_open(self.now) {
                    return false;
                }
                let need = record.compaction_reserve().plus(record.reserve_after_compaction(start));
                let finally = self.plan.is_finally(task.ix());
                if self.shortage(need, self.open_reserves(), finally).is_some() {
                    return false;
                }
                let (attempt, call, of_event) = (start.attempt.clone(), start.call, groups.clone());
                self.emit(EventKind::CompactionStarted(CompactionStart { attempt, call, groups: of_event }));
                groups
            }
        };
        self.flight.set(task, Some(TaskRequest::Compaction));
        let request = Box::new(CompactionRequest { start: start.clone(), groups });
        self.turn.effects.push(Effect::Compact { request });
        true
    }

    /// Applies the answer of the compactor, or the reason why there is none, and lets the call begin.
    pub(in crate::machine) fn on_compacted(&mut self, reply: CompactionReply) {
        let CompactionReply { start, said, asked, usage } = reply;
        let waits = |task: &TaskIx| self.flight.request(*task) == Some(TaskRequest::Compaction);
        let Some(task) = self.working_agent(&start.attempt).filter(waits) else {
            return;
        };
        let Some(record) = self.agent_record(task) else {
            return;
        };
        let known = record.compaction.as_ref().filter(|known| known.call == start.call && known.is_open());
        let Some(known) = known else {
            return;
        };
        let outcome = match said.and_then(|text| GroupChoice::read(&text, known.groups.len())) {
            Ok(choice) => CompactionOutcome::Chosen { context: record.chosen(&start, &choice), choice },
            Err(why) => CompactionOutcome::Failed { reason: truncate_reason(why) },
        };
        let (attempt, call) = (start.attempt.clone(), start.call);
        self.emit(EventKind::CompactionEnded(CompactionEnd { attempt, call, outcome, asked, usage }));
        self.flight.set(task, None);
        match self.forced_exit(task) {
            Some(exit) => self.end_agent(&start.attempt, exit, None),
            None => self.begin_call(task, start),
        }
    }
}
