//! An engine as the machine sees it: turns on their way to the log, timers, units of work.

use std::collections::VecDeque;

use wf_base::time::Moment;
use wf_core::machine::{
    AgentEnding, ApprovalRequest, Attempt, ChildId, ClientTurn, CompactionRequest, Effect, Event,
    ExchangeQuestion, GatePoint, InputKind, Machine, MergePlan, ModelCall, PlanReply, TaskId, TaskLocks,
    TimerKind, ToolCallId, ToolOrder, WorkExit,
};
use wf_model::CheckPhase;

use super::merges;

/// One life of an engine that works on one run. What is in here dies with it.
pub struct Engine {
    pub machine: Machine,
    /// A machine that is told the events and nothing else.
    pub shadow: Machine,
    /// The turns that were not carried out yet.
    pub turns: VecDeque<Turned>,
    /// How many of them are in the log.
    pub written: usize,
    pub timers: Vec<(Moment, TimerKind)>,
    pub units: Vec<Unit>,
    /// The latest time it heard of.
    pub clock: i64,
    pub life: u32,
}

/// A turn whose effects wait for its events.
pub struct Turned {
    pub events: Vec<Event>,
    pub effects: Vec<Effect>,
}

/// A piece of work that an engine waits for.
#[derive(Debug)]
pub struct Unit {
    pub job: Job,
    pub due: i64,
    pub begun: bool,
    pub stop: bool,
    /// Whether it was told to end, though it may end by itself before.
    pub told: bool,
}

/// What a unit does.
#[derive(Clone, Debug, PartialEq)]
pub enum Job {
    /// The work of an attempt; `again`: it may be under way already.
    Work { attempt: Attempt, again: bool },
    /// The checks of an attempt, or of the plan.
    Check { attempt: Option<Attempt>, phase: CheckPhase },
    /// A look at evidence.
    Confirm { places: Vec<TaskId> },
    /// A look into the cache.
    Look { task_id: TaskId },
    /// Waiting for locks.
    Lock { task_id: TaskId, locks: TaskLocks },
    /// Giving locks back.
    Unlock { task_id: TaskId },
    /// Gates that are asked.
    Gate {
        task_id: Option<TaskId>,
        point: GatePoint,
        attempt: u32,
        tool_call: Option<ToolCallId>,
        exchange: Option<Box<ExchangeQuestion>>,
    },
    /// The reading of a plan that the run made.
    Generate { attempt: Attempt },
    /// The briefing of an agent, which begins or goes on.
    Brief { attempt: Attempt },
    /// A call of an agent's model.
    Model { attempt: Attempt, call: u32 },
    /// A tool call of an agent.
    Tool { id: ToolCallId },
    /// A child run of an agent.
    Child { id: ChildId },
    /// The program of an agent, until it calls or ends; the number of its last call.
    Serve { attempt: Attempt, call: u32 },
    /// A look at what an agent left.
    Collect { attempt: Attempt, exit: WorkExit },
    /// A merge that is computed, or whose files are written.
    Merge { attempt: Attempt, plan: Option<MergePlan> },
    /// The planner that is asked about steps, after a round.
    Plan { round: u32, again: bool, steps: Vec<String> },
    /// The planner that is asked about a step whose attempts fail, and what its agent must not use.
    Guide { attempt: Attempt },
    /// The compactor that is asked what is omitted of a conversation.
    Compact { request: Box<CompactionRequest> },
    /// People who are asked.
    Ask { ask: Box<ApprovalRequest> },
}

impl Engine {
    pub fn new(machine: Machine, shadow: Machine, life: u32) -> Self {
        Self {
            machine,
            shadow,
            turns: VecDeque::new(),
            written: 0,
            timers: Vec::new(),
            units: Vec::new(),
            clock: i64::MIN,
            life,
        }
    }

    /// Another round begins: what prepares attempts of the one before comes to nothing.
    pub fn begins_anew(&mut self) {
        for turn in &mut self.turns {
            turn.effects.retain(|effect| !effect.prepares());
        }
        self.units.retain(|unit| {
            !matches!(unit.job, Job::Look { .. } | Job::Lock { .. } | Job::Gate { task_id: Some(_), .. })
        });
    }

    /// People are asked a question no more.
    pub fn dismiss(&mut self, number: u32) {
        let of_it = |job: &Job| matches!(job, Job::Ask { ask } if ask.request == number);
        self.units.retain(|unit| !of_it(&unit.job));
    }

    /// Whether the run is over, and all of it carried out.
    pub fn is_done(&self) -> bool {
        self.machine.outcome().is_some() && self.turns.is_empty() && self.units.is_empty()
    }

    /// The effects that were asked for and have not reached the world.
    fn waiting(&self) -> impl Iterator<Item = &Effect> {
        self.turns.iter().flat_map(|turn| &turn.effects)
    }

    /// Whether an attempt is worked on, or about to be.
    fn works(&self, attempt: &Attempt) -> bool {
        let works = |job: &Job| match job {
            Job::Work { attempt: a, .. }
            | Job::Generate { attempt: a }
            | Job::Brief { attempt: a }
            | Job::Collect { attempt: a, .. } => a == attempt,
            _ => false,
        };
        let asked = |effect: &Effect| match effect {
            Effect::Start { attempt: a, .. }
            | Effect::Watch { attempt: a, .. }
            | Effect::EndAgent(AgentEnding { attempt: a, .. }) => a == attempt,
            _ => false,
        };
        self.units.iter().any(|unit| works(&unit.job)) || self.waiting().any(asked)
    }

    /// Whether the call of an agent that an input ends is under way, or about to be; `None`: it ends none.
    fn calls(&self, what: &InputKind) -> Option<bool> {
        let done = |job: &dyn Fn(&Job) -> bool| self.units.iter().any(|unit| job(&unit.job));
        Some(match what {
            InputKind::Replied { end, .. } => {
                done(&|job| matches!(job, Job::Model { attempt, call } if (attempt, *call) == (&end.attempt, end.call)))
                    || self.waiting().any(
                        |effect| matches!(effect, Effect::CallModel(ModelCall { attempt, call, .. }) if (attempt, *call) == (&end.attempt, end.call)),
                    )
            }
            InputKind::ClientCalled { attempt: of, .. } | InputKind::ClientEnded { attempt: of, .. } => {
                done(&|job| matches!(job, Job::Serve { attempt, .. } if attempt == of))
                    || self.waiting().any(
                        |effect| matches!(effect, Effect::ServeClient(ClientTurn { attempt, .. }) if attempt == of),
                    )
            }
            InputKind::Compacted(reply) => {
                done(&|job| matches!(job, Job::Compact { request } if request.start == reply.start))
                    || self.waiting().any(|effect| matches!(effect, Effect::Compact { request } if request.start == reply.start))
            }
            InputKind::ToolEnded(end) => {
                done(&|job| matches!(job, Job::Tool { id } if *id == end.id))
                    || self.waiting().any(|effect| matches!(effect, Effect::CallTool(ToolOrder { id, .. }) if *id == end.id))
            }
            InputKind::ChildEnded(end) => {
                done(&|job| matches!(job, Job::Child { id } if *id == end.id))
                    || self.waiting().any(|effect| matches!(effect, Effect::StartChild { id, .. } if *id == end.id))
            }
            _ => return None,
        })
    }

    /// Whether an input would answer something that was asked for.
    pub fn asked(&self, what: &InputKind) -> bool {
        if let InputKind::MergePrepared { .. } | InputKind::Merged(_) = what {
            let waiting = self.waiting().filter_map(merges::job);
            let mut jobs = self.units.iter().map(|unit| unit.job.clone()).chain(waiting);
            return jobs.any(|job| merges::answers(what, &job) == Some(true));
        }
        self.calls(what).unwrap_or_else(|| self.asked_of_steps(what))
    }

    fn asked_of_steps(&self, what: &InputKind) -> bool {
        let done = |job: &dyn Fn(&Job) -> bool| self.units.iter().any(|unit| job(&unit.job));
        match what {
            InputKind::Ended(ended) => self.works(&ended.attempt),
            InputKind::Briefed { briefing, .. } => self.works(&briefing.attempt),
            InputKind::Generated(made) => self.works(&made.attempt),
            InputKind::Judged { attempt, phase, .. } => {
                done(&|job| matches!(job, Job::Check { attempt: a, phase: p } if (a, p) == (attempt, phase)))
                    || self.waiting().any(
                        |effect| matches!(effect, Effect::Check { attempt: a, phase: p, .. } if (a, p) == (attempt, phase)),
                    )
            }
            InputKind::Looked { task_id, .. } => {
                done(&|job| matches!(job, Job::Look { task_id: p } if p == task_id))
                    || self.waiting().any(
                        |effect| matches!(effect, Effect::Lookup { task_id: p, .. } if p == task_id),
                    )
            }
            InputKind::Locked { task_id }
            | InputKind::LockHeld { task_id }
            | InputKind::LockRefused { task_id, .. } => {
                done(&|job| matches!(job, Job::Lock { task_id: p, .. } if p == task_id))
                    || self
                        .waiting()
                        .any(|effect| matches!(effect, Effect::Lock { task_id: p, .. } if p == task_id))
            }
            InputKind::Woke { timer } => {
                let due = |at: &Moment| at.millis() <= self.clock;
                let set = self.timers.iter().any(|(at, set)| set == timer && due(at));
                let asked = |effect: &Effect| matches!(effect, Effect::Wake { timer: t, at } if t == timer && due(at));
                set || self.waiting().any(asked)
            }
            InputKind::Confirmed { .. } => {
                done(&|job| matches!(job, Job::Confirm { .. }))
                    || self
                        .waiting()
                        .any(|effect| matches!(effect, Effect::Confirm { .. }))
            }
            InputKind::Gated { task_id, point, tool_call, exchange, .. } => {
                let part = exchange.as_ref().map(|answer| &answer.part);
                let same = |p: &Option<TaskId>, q: &GatePoint, of: &Option<ToolCallId>, about: &Option<Box<ExchangeQuestion>>| {
                    (p, q, of, about.as_ref().map(|about| &about.part)) == (task_id, point, tool_call, part)
                };
                done(&|job| matches!(job, Job::Gate { task_id, point, tool_call, exchange, .. } if same(task_id, point, tool_call, exchange)))
                    || self.waiting().any(|effect| {
                        matches!(effect, Effect::Gate(asked) if same(&asked.task_id, &asked.point, &asked.tool_call, &asked.exchange))
                    })
            }
            InputKind::Answered { number, .. } => {
                done(&|job| matches!(job, Job::Ask { ask, .. } if ask.request == *number))
                    || self.waiting().any(
                        |effect| matches!(effect, Effect::Ask(ask) if ask.request == *number),
                    )
            }
            InputKind::Planned(reply) => self.plans(reply),
            InputKind::Guided(reply) => self.guides(&reply.attempt),
            InputKind::Begin { .. } | InputKind::Cancel { .. } => true,
            // What is stale; the calls of agents are looked for elsewhere.
            _ => false,
        }
    }

    /// True if a planner was asked about a round, and has answered.
    fn plans(&self, reply: &PlanReply) -> bool {
        let asked = (reply.round, reply.again);
        let answers = |job: &Job| matches!(job, Job::Plan { round, again, .. } if (*round, *again) == asked);
        self.units.iter().any(|unit| answers(&unit.job))
            || self.waiting().any(|effect| match effect {
                Effect::Plan { request } => (request.round.round, request.rejected.is_some()) == asked,
                _ => false,
            })
    }

    /// Whether a planner was asked about an attempt, and has answered.
    fn guides(&self, failed: &Attempt) -> bool {
        let same = |job: &Job| matches!(job, Job::Guide { attempt } if attempt == failed);
        let waits =
            |effect: &Effect| matches!(effect, Effect::Guide { request } if request.attempt == *failed);
        self.units.iter().any(|unit| same(&unit.job)) || self.waiting().any(waits)
    }
}
