//! The requests of a living machine, not recorded by events.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::machine::{
    state::{MachineState, TaskIx, file_claims::FileClaims, plan_rules::takes_room, task_phase::TaskPhase},
    words::{AttemptEnd, ChildId, TaskLocks, serde_pairs},
};
use wf_model::Plan;

/// The requests of a living machine, not recorded by events. They die with it: [`Machine::resume`] derives
/// them anew from the state, and the fold of the events never sees them.
///
/// [`Machine::resume`]: crate::machine::Machine::resume
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct InFlight {
    /// Steps with ended dependencies, before the evaluation of `when`.
    due: BTreeSet<u32>,
    /// Tasks with their locks.
    locked: BTreeSet<TaskIx>,
    /// The files claimed by tasks under way.
    #[serde(skip)]
    claims: FileClaims,
    /// The task of the requested merge.
    merging: Option<TaskIx>,
    /// Tasks with an overdue agent, told to end.
    overdue: BTreeSet<TaskIx>,
    /// Child runs of agents, asked of this engine.
    children: BTreeSet<ChildId>,
    /// Tasks with an agent waiting for child runs.
    collecting: BTreeSet<TaskIx>,
    /// The ends of agents, until their child runs have ended.
    #[serde(serialize_with = "serde_pairs::serialize")]
    held: BTreeMap<TaskIx, AttemptEnd>,
    /// True if no further work begins, since the engine is to leave the run.
    #[serde(skip)]
    is_draining: bool,
    #[serde(serialize_with = "serde_pairs::serialize")]
    requests: BTreeMap<TaskIx, TaskRequest>,
    // Indexes over the requests.
    queue: BTreeSet<TaskIx>,
    roomless: BTreeSet<TaskIx>,
    busy: u32,
    returning: u32,
}

/// The request for a task, beside its recorded phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(in crate::machine) enum TaskRequest {
    /// It waits for its turn; without `room`, it takes up none and may begin at once.
    Turn {
        room: bool,
    },
    /// A timer ends its wait for the next attempt.
    Timer,
    Lock {
        room: bool,
    },
    /// The gates before its work are asked.
    Gates {
        room: bool,
    },
    /// Its cache key is being looked up.
    Lookup,
    /// The briefing of its agent is awaited.
    Briefing,
    /// The gates of a call of its agent are asked.
    ToolGates,
    /// The compactor of its agent is asked.
    Compaction,
    /// Its locks are requested after a resume, to go on; if it was `approved` meanwhile, the answer waits, too.
    Return {
        approved: bool,
    },
}

impl InFlight {
    /// Derives the requests for the tasks of a run to go on.
    pub(in crate::machine) fn derive(plan: &Plan, state: &MachineState) -> Self {
        let mut flight = Self::default();
        for (task, record) in state.tasks() {
            match record.phase() {
                // It gets its turn anew, and then requests the lock.
                TaskPhase::Locking => flight.enqueue(plan, task),
                phase => {
                    flight.follow(plan, task, phase);
                    if matches!(phase, TaskPhase::Active(_) | TaskPhase::Undecided | TaskPhase::Resting(_)) {
                        flight.claims.claim(plan, state, task);
                    }
                }
            }
        }
        flight
    }

    /// Follows a task, moved by an event.
    pub(in crate::machine) fn follow(&mut self, plan: &Plan, task: TaskIx, phase: TaskPhase) {
        self.overdue.remove(&task);
        match phase {
            TaskPhase::Due => {
                self.due.insert(task.step);
            }
            TaskPhase::Queued => self.enqueue(plan, task),
            TaskPhase::Resting(_) => self.set(task, Some(TaskRequest::Timer)),
            // A decision does not give it its lock back.
            TaskPhase::Active(_) | TaskPhase::Undecided if self.is_returning(task) => {}
            TaskPhase::Ended(_) => {
                if task.item.is_none() {
                    self.due.remove(&task.step);
                }
                self.locked.remove(&task);
                self.claims.release(task);
                self.set(task, None);
            }
            TaskPhase::Pending | TaskPhase::Locking | TaskPhase::Active(_) | TaskPhase::Undecided => {
                self.set(task, None);
            }
        }
    }

    /// Queues a task, to begin as soon as there is room.
    pub(in crate::machine) fn enqueue(&mut self, plan: &Plan, task: TaskIx) {
        let room = takes_room(plan, task);
        self.set(task, Some(TaskRequest::Turn { room }));
    }

    /// Replaces the request for a task.
    pub(in crate::machine) fn set(&mut self, task: TaskIx, request: Option<TaskRequest>) {
        let before = match request {
            Some(request) => self.requests.insert(task, request),
            None => self.requests.remove(&task),
        };
        match before {
            Some(TaskRequest::Turn { room: true }) => drop(self.queue.remove(&task)),
            Some(TaskRequest::Turn { room: false }) => drop(self.roomless.remove(&task)),
            Some(
                TaskRequest::Gates { room: true } | TaskRequest::Lock { room: true } | TaskRequest::Lookup,
            ) => self.busy -= 1,
            Some(TaskRequest::Return { .. }) => self.returning -= 1,
            _ => {}
        }
        match request {
            Some(TaskRequest::Turn { room: true }) => drop(self.queue.insert(task)),
            Some(TaskRequest::Turn { room: false }) => drop(self.roomless.insert(task)),
            Some(
                TaskRequest::Gates { room: true } | TaskRequest::Lock { room: true } | TaskRequest::Lookup,
            ) => self.busy += 1,
            Some(TaskRequest::Return { .. }) => self.returning += 1,
            _ => {}
        }
    }

    pub(in crate::machine) fn request(&self, task: TaskIx) -> Option<TaskRequest> {
        self.requests.get(&task).copied()
    }

    /// Returns the tasks with a request, in order.
    pub(in crate::machine) fn tasks_with(&self, request: TaskRequest) -> impl Iterator<Item = TaskIx> + '_ {
        let same = self.requests.iter().filter(move |(_, own)| **own == request);
        same.map(|(task, _)| *task)
    }

    /// Returns the first task in turn, given the room for tasks; it claims its declared files, and
    /// no other task may have them. While a
    /// task that takes up room waits to get its lock back after a resume, no other task takes a lock and then
    /// waits for room: otherwise each could wait for the other, even across runs.
    pub(in crate::machine) fn next_in_turn(
        &mut self,
        plan: &Plan,
        state: &MachineState,
        room: u32,
    ) -> Option<TaskIx> {
        let free = |task: &&TaskIx| {
            let needs_none = || self.locked.contains(task) || TaskLocks::of(plan, state, **task).is_empty();
            (self.returning == 0 || needs_none()) && self.claims.admit(plan, state, **task)
        };
        let queue = (self.busy < room).then_some(&self.queue);
        let next = self.roomless.iter().chain(queue.into_iter().flatten()).find(free).copied()?;
        self.claims.claim(plan, state, next);
        Some(next)
    }

    /// True if a task waits for its lock to go on after a resume.
    pub(in crate::machine) fn is_returning(&self, task: TaskIx) -> bool {
        matches!(self.request(task), Some(TaskRequest::Return { .. }))
    }

    /// True if a task holds a lock, or waits for one.
    pub(in crate::machine) fn uses_lock(&self, task: TaskIx) -> bool {
        let waits = matches!(self.request(task), Some(TaskRequest::Lock { .. } | TaskRequest::Return { .. }));
        waits || self.locked.contains(&task)
    }

    /// Returns the next step with ended dependencies, which is not due any more.
    pub(in crate::machine) fn take_due_step(&mut self) -> Option<u32> {
        self.due.pop_first()
    }

    pub(in crate::machine) fn has_due_step(&self) -> bool {
        !self.due.is_empty()
    }

    /// Lets nothing more begin.
    pub(in crate::machine) fn drain(&mut self) {
        self.is_draining = true;
    }

    pub(in crate::machine) fn is_draining(&self) -> bool {
        self.is_draining
    }

    pub(in crate::machine) fn note_lock(&mut self, task: TaskIx) {
        self.locked.insert(task);
    }

    pub(in crate::machine) fn has_lock(&self, task: TaskIx) -> bool {
        self.locked.contains(&task)
    }

    /// Notes that the agent of a task is told to end, since it takes too long; false if it is told already.
    pub(in crate::machine) fn note_overdue(&mut self, task: TaskIx) -> bool {
        self.overdue.insert(task)
    }

    /// Returns the task of the requested merge.
    pub(in crate::machine) fn merging_task(&self) -> Option<TaskIx> {
        self.merging
    }

    /// Notes the task of the requested merge; `None`: no merge is requested any more.
    pub(in crate::machine) fn note_merge(&mut self, task: Option<TaskIx>) {
        self.merging = task;
    }
}

/// The requests about the child runs of agents.
impl InFlight {
    /// Notes that a child run is asked of this engine; false if it is already.
    pub(in crate::machine) fn begin_child(&mut self, child: ChildId) -> bool {
        self.children.insert(child)
    }

    /// Notes the end of a child run; false if none was asked.
    pub(in crate::machine) fn end_child(&mut self, child: &ChildId) -> bool {
        self.children.remove(child)
    }

    /// Notes that the agent of a task waits for child runs.
    pub(in crate::machine) fn begin_collecting(&mut self, task: TaskIx) {
        self.collecting.insert(task);
    }

    /// Notes that the agent of a task waits for no child runs; false if it did not.
    pub(in crate::machine) fn end_collecting(&mut self, task: TaskIx) -> bool {
        self.collecting.remove(&task)
    }

    pub(in crate::machine) fn is_collecting(&self, task: TaskIx) -> bool {
        self.collecting.contains(&task)
    }

    /// Holds the end of an agent until its child runs have ended.
    pub(in crate::machine) fn hold_end(&mut self, task: TaskIx, end: AttemptEnd) {
        self.held.insert(task, end);
    }

    /// Takes the end of an agent held until its child runs have ended.
    pub(in crate::machine) fn take_held_end(&mut self, task: TaskIx) -> Option<AttemptEnd> {
        self.held.remove(&task)
    }
}
