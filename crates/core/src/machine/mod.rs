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
//! An input enters at `turn`, which hands it to the room that it answers. A room decides over a `Run`: it reads the
//! state, and each decision is an event, recorded by `Run::emit`, and an effect. The fold (`state::fold`) applies the
//! event to [`MachineState`], and [`InFlight`] follows the tasks that it moved. The work that follows in another room is
//! left as a `FollowUp`, and `turn` carries it out as soon as the room is done. Then `turn` asks `tasks` what may begin
//! now, until nothing more follows without an input.
//!
//! ```text
//! room    what it is                                                     what it names
//! turn    inputs and follow-ups, each to its room; what may begin next   all below
//! tasks   dependencies, admission, attempts, budget, the ends            state, words
//! agents  model calls, tool calls, child runs, merges, help              state, words
//! gates   gates and approvals                                            state, words
//! proof   checks, rework, evidence that goes stale                       state, words
//! rounds  measured, judged, redirected to other alternatives; planners   state, words
//! state   the run, its fold, and what several rooms ask                  words
//! words   events, inputs, effects, ids, requests, verdicts               nothing
//! ```
//!
//! **Invariant:** a room names no other, and only `turn` has methods of [`Machine`]. **Invariant:** no room writes the state:
//! `Run` keeps it private, and lends it to be read. **Invariant:** a follow-up is the last act of a room, so events come in
//! the order of direct calls.
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

pub use agents::tool_approval::untrusted_input;
pub use rounds::planner::{ANSWER_LIMIT, proposed_plans};
pub use state::{
    LogicMismatch, MachineState, MachineTurn,
    budget_limits::{BUDGET_SPENT_PREFIX, CALL_UNPAID_PREFIX},
    halting::{NOT_CHOSEN, NOT_ESCALATED, NOT_STARTED},
    help::{ATTEMPTS_BEFORE_GUIDANCE, REPLANS_BEFORE_PEOPLE},
    in_flight::InFlight,
    restore::RestoreError,
};
pub use turn::machine::Machine;
pub use words::*;
