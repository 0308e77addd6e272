//! The fold of the facts about the child runs of agents.

use std::collections::BTreeSet;

use crate::agent::ChildRequest;
use crate::machine::state::{MachineState, TaskIx};
use crate::machine::words::{Attempt, ChildId, ChildPhase, ChildRecord, EventKind, ToolCallId};
use wf_base::time::Moment;
use wf_model::Plan;

impl MachineState {
    /// Applies a fact about a child run.
    pub(in crate::machine) fn apply_to_children(&mut self, plan: &Plan, fact: &EventKind) {
        match fact {
            EventKind::ChildDispatched(dispatch) => {
                if let Some(record) = self.agent_record_mut(plan, &dispatch.id.attempt)
                    && let Some(ChildRequest::Dispatch(start)) = record.child_request(dispatch.id.position)
                {
                    let start = start.clone();
                    record.children.push(ChildRecord { start, phase: ChildPhase::Waiting });
                }
            }
            EventKind::ChildStarted(id) => self.set_child_phase(plan, id, &ChildPhase::Running),
            EventKind::ChildEnded(end) => {
                self.set_child_phase(plan, &end.id, &ChildPhase::Ended(end.clone()));
            }
            _ => {}
        }
    }

    /// Notes that an agent waits from now on, if a tool call is one of `collect`.
    pub(in crate::machine) fn begin_collect(&mut self, plan: &Plan, at: Moment, call: &ToolCallId) {
        if let Some(record) = self.agent_record_mut(plan, &call.attempt)
            && let Some(ChildRequest::Collect(_)) = record.child_request(call.position)
        {
            record.collecting_since = Some(at);
        }
    }

    /// Adds the time that an agent waited, if the tool call that ends is one of `collect`.
    pub(in crate::machine) fn end_collect(&mut self, plan: &Plan, at: Moment, attempt: &Attempt) {
        if let Some(record) = self.agent_record_mut(plan, attempt)
            && let Some(since) = record.collecting_since.take()
        {
            record.add_wait(at.since(since));
        }
    }

    /// True if the agent of an attempt waits for child runs, and all that have begun are among some runs, given by the
    /// names of the attempts that they are.
    pub(in crate::machine) fn only_collects(
        &self,
        task: TaskIx,
        attempt: &Attempt,
        runs: &BTreeSet<String>,
    ) -> bool {
        let record = self.task_record(task).and_then(|record| record.agent.as_deref());
        let Some(record) = record.filter(|record| record.is_collecting()) else { return false };
        let mut begun = record.children.iter().filter(|child| child.phase == ChildPhase::Running);
        begun.all(|child| {
            let id = ChildId { attempt: attempt.clone(), child: child.start.child.clone() };
            runs.contains(&id.attempt_path())
        })
    }

    fn set_child_phase(&mut self, plan: &Plan, id: &ChildId, phase: &ChildPhase) {
        let record = self.agent_record_mut(plan, &id.attempt);
        let children = record.into_iter().flat_map(|record| &mut record.children);
        for child in children.filter(|child| child.start.child == id.child) {
            child.phase = phase.clone();
        }
    }
}
