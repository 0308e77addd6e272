//! The state of a run: its record, the fold of the facts, and what can be read from it.
//!
//! `Run` is what every room is given: `emit` records a fact, `push_effect` orders an effect, `then` leaves what follows
//! to another room, and the others only read. **Invariant:** the state is the fold of the facts, and `InFlight` is
//! derived from it. **Invariant:** this room calls no other, and names `words` alone.
//!
//! Start at `machine_state`, `task_record` and `task_phase`, then `run` and `follow_up`. `fold` has the change that each
//! fact makes; `control` and `history` are what rounds and corrections need. `requests` and `timers` record and set;
//! `plan_rules`, `halting`, `budget_limits`, `agents`, `help`, `tool_choice`, `feedback` and `scope` answer questions
//! about the plan and the state.

pub(super) mod budget_limits;
pub(super) mod control;
pub(super) mod feedback;
pub(super) mod fold;
pub(super) mod follow_up;
pub(super) mod halting;
pub(super) mod help;
pub(super) mod history;
pub(super) mod in_flight;
pub(super) mod machine_state;
pub(super) mod plan_rules;
pub(super) mod requests;
pub(super) mod scope;
pub(super) mod task_phase;
pub(super) mod task_record;
pub(super) mod timers;
pub(super) mod tool_choice;

mod agents;
mod file_claims;
mod run;

pub use machine_state::MachineState;
pub(super) use machine_state::{TaskIx, attempt, find_task_ix, task_id};
pub(super) use run::Run;
pub use run::{LogicMismatch, MachineTurn};
