//! The core: a pure state machine that runs one plan.
//!
//! [`Machine::turn`] takes one [`MachineInput`] (an occurrence, at an instant) and returns a [`MachineTurn`]: the
//! [`Event`]s that follow from it and the [`Effect`]s that the world must carry out once those
//! events are durable. It reads no clock, does no I/O, waits for nothing and draws no random
//! numbers.
//!
//! **Invariant:** the state is the fold of the events; [`Machine::replay`] rebuilds it. What was
//! asked of the world and not answered is [`InFlight`]: the fold never sees it, and after a replay
//! [`Machine::resume`] derives it from the state. **Invariant:** an input that
//! does not answer an open effect changes nothing, so every input may arrive twice. **Invariant:**
//! a turn costs what it changes: the edges of the steps that ended, never a scan or a copy of the
//! state.
//!
//! # The way through it
//!
//! An input enters at `turn`, which calls the room that the input answers. A room decides, and each decision is an
//! event, recorded by `Machine::emit`. The fold (`fold`, `fold_gates`, `task_end`, `reopen`) applies the event to
//! [`MachineState`], and [`InFlight`] follows the tasks that it moved. Then `advance` begins whatever may begin now,
//! until nothing more follows without an input.
//!
//! | room | modules |
//! |---|---|
//! | progress: dependencies, the items of a repeated step, the phases of a run | `advance` `fan_out` |
//! | admission: room, gates, locks, the cache, the budget | `admit` `budget` `in_flight` |
//! | attempts: their ends, retries and feedback | `finish` `history` `feedback` |
//! | agents: model calls and tool calls | `agent` `agent_client` `agent_context` `agent_fold` `agent_record` |
//! | child runs that agents start | `children` `child_fold` |
//! | plans that the run makes | `generated` |
//! | merges of what agents did in worktrees | `merging` |
//! | verdicts: the checks of a phase, rework, evidence that goes stale | `checks` `confirm` |
//! | gates and approvals | `gates` `escalation` `approvals` |
//! | rounds: measured, judged, redirected to other alternatives | `measure` `rounds` `actuator` `memory_advice` |
//! | the planner, asked when no alternative is left | `planner` `request` `proposal` `restrictions` |
//! | the planner, asked about an agent whose attempts fail | `guidance` |
//! | people, asked about an agent that is stuck | `stuck` |
//! | time and interruption: timers, cancellation, resume, restore, termination | `timers` `cancel` `resume` `restore` `terminate` |
//! | the end of a run and its verification status | `run_end` `omission` |
//!
//! The other modules hold the types of events, inputs and effects, and of the state: `state` and `task_phase` for the
//! run and its tasks, `control` for the controller, `ledger` for the budget.

mod agents;
mod gates;
mod proof;
mod rounds;
mod state;
mod tasks;
mod turn;
mod words;

pub use agents::guidance::ATTEMPTS_BEFORE_GUIDANCE;
pub use agents::tool_approval::untrusted_input;
pub use rounds::fan_in::REPLANS_BEFORE_PEOPLE;
pub use rounds::planner::{ANSWER_LIMIT, proposed_plans};
pub use state::budget_limits::{BUDGET_SPENT_PREFIX, CALL_UNPAID_PREFIX};
pub use state::halting::{NOT_CHOSEN, NOT_ESCALATED, NOT_STARTED};
pub use state::in_flight::InFlight;
pub use state::{LogicMismatch, Machine, MachineState, MachineTurn};
pub use tasks::restore::RestoreError;
pub use words::*;
