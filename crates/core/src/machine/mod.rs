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
//! event, recorded by `Machine::emit`. The fold (`state::fold`) applies the event to
//! [`MachineState`], and [`InFlight`] follows the tasks that it moved. Then `tasks::advance` begins whatever may begin now,
//! until nothing more follows without an input.
//!
//! ```text
//! room    what it is                                                    what it calls, besides `state`
//! turn    an input, and the room that it goes to                        all below
//! tasks   dependencies, admission, attempts, budget, the ends           agents gates proof rounds
//! agents  model calls, tool calls, child runs, merges, help             tasks gates proof rounds
//! gates   gates and approvals                                           tasks proof
//! proof   checks, rework, evidence that goes stale                      tasks agents gates
//! rounds  measured, judged, redirected to other alternatives; planners  tasks
//! state   the state, its fold, and what all rooms read and record       nothing
//! words   events, inputs, effects, ids, requests, verdicts              nothing, and names no room
//! ```
//!
//! A room names `state` and `words` alone, and calls the others as methods of [`Machine`]. Between `tasks`, `agents`, `gates`
//! and `proof` such calls go both ways: an attempt that ended is checked, and a check that failed ends the task. Methods
//! call each other in a circle only through `finish`, which stops the others when a task has failed, and in the loop of
//! an agent.
//!
//! Start at `words`, then `turn` and `tasks`; the documentation of each room says where to start in it.

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
pub use state::{LogicMismatch, MachineState, MachineTurn};
pub use tasks::restore::RestoreError;
pub use turn::machine::Machine;
pub use words::*;
