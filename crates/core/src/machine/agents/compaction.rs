//! The compactor (Silas 5.7): a model for the choice among old turns of an agent's conversation, where turns are to
//! be omitted.
//!
//! It is asked once for a cut, and its answer is recorded before the request that relies on it. Without an answer
//! of use, the oldest turns are omitted. **Invariant:** no answer makes a conversation fit less, or an agent fail.

use crate::{
    agent::GroupChoice,
    machine::{
        agents::agent,
        state::{Run, TaskIx, budget_limits, in_flight::TaskRequest},
        words::{
            CompactionEnd, CompactionOutcome, CompactionReply, CompactionRequest, CompactionStart, Effect,
            EventKind, ModelCallStart, reason::truncate_reason,
        },
    },
};

/// Asks the compactor about a call that is to begin, if there is something to choose. True if it is being asked.
pub(in crate::machine) fn ask_compactor(run: &mut Run, task: TaskIx, start: &ModelCallStart) -> bool {
    let Some(record) = run.agent_record(task).filter(|record| record.compactor.is_some()) else {
        return false;
    };
    let known = record.compaction.as_ref().filter(|known| known.call == start.call);
    let groups = match known {
        Some(known) if known.is_open() => known.groups.clone(),
        Some(_) => return false,
        None => {
            let groups = record.groups(start);
            if groups.is_empty() || run.state().agents.spares_compactor(run.now()) {
                return false;
            }
            let need = record.compaction_reserve().plus(record.reserve_after_compaction(start));
            let finally = run.plan().is_finally(task.ix());
            if budget_limits::shortage(run, need, run.open_reserves(), finally).is_some() {
                return false;
            }
            let (attempt, call, of_event) = (start.attempt.clone(), start.call, groups.clone());
            run.emit(EventKind::CompactionStarted(CompactionStart { attempt, call, groups: of_event }));
            groups
        }
    };
    run.flight.set(task, Some(TaskRequest::Compaction));
    let request = Box::new(CompactionRequest { start: start.clone(), groups });
    run.push_effect(Effect::Compact { request });
    true
}

/// Applies the answer of the compactor, or the reason why there is none, and lets the call begin.
pub(in crate::machine) fn on_compacted(run: &mut Run, reply: CompactionReply) {
    let CompactionReply { start, said, asked, usage } = reply;
    let waits = |task: &TaskIx| run.flight.request(*task) == Some(TaskRequest::Compaction);
    let Some(task) = run.working_agent(&start.attempt).filter(waits) else {
        return;
    };
    let Some(record) = run.agent_record(task) else {
        return;
    };
    let known = record.compaction.as_ref().filter(|known| known.call == start.call && known.is_open());
    let Some(known) = known else {
        return;
    };
    let read =
        |text: String| GroupChoice::read(&text, known.groups.len()).map_err(|mistake| mistake.to_string());
    let outcome = match said.and_then(read) {
        Ok(choice) => CompactionOutcome::Chosen { context: record.chosen(&start, &choice), choice },
        Err(why) => CompactionOutcome::Failed { reason: truncate_reason(why) },
    };
    let (attempt, call) = (start.attempt.clone(), start.call);
    run.emit(EventKind::CompactionEnded(CompactionEnd { attempt, call, outcome, asked, usage }));
    run.flight.set(task, None);
    match run.forced_exit(task) {
        Some(exit) => agent::end_agent(run, &start.attempt, exit, None),
        None => agent::begin_call(run, task, start),
    }
}
