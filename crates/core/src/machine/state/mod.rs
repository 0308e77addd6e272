//! The state of a run: its record, the fold of the facts, and the questions about it.
//!
//! Every room is given a `Run`: `emit` records a fact, `push_effect` orders an effect, `then` leaves a follow-up to another
//! room, `state` lends the state to be read. **Invariant:** the state is the fold of the facts, and `InFlight` is derived
//! from it. **Invariant:** only the fold writes the state. The compiler holds this: `Run::fold` alone has a
//! `&mut MachineState`, the fields of a part are private to its file, and its changes are visible in `state` alone.
//! **Invariant:** this room calls no other, and names `words` alone.
//!
//! Start at `run` and `machine_state`, then `parts` and `task_phase`, and `follow_up`. `fold` has the change of several
//! parts by one fact. `requests` and `timers` record and set; `plan_rules`, `halting`, `budget_limits`, `agents`, `help`,
//! `tool_choice`, `feedback` and `scope` answer questions about the plan and the state; `restore` continues a stored state.

pub(super) mod budget_limits;
pub(super) mod feedback;
pub(super) mod fold;
pub(super) mod follow_up;
pub(super) mod halting;
pub(super) mod help;
pub(super) mod in_flight;
pub(super) mod machine_state;
pub(super) mod parts;
pub(super) mod plan_rules;
pub(super) mod requests;
pub(super) mod restore;
pub(super) mod scope;
pub(super) mod task_phase;
pub(super) mod timers;
pub(super) mod tool_choice;

mod agents;
mod file_claims;
mod run;

pub use machine_state::MachineState;
pub(super) use machine_state::{TaskIx, attempt, find_task_ix, task_id};
pub(super) use run::Run;
pub use run::{LogicMismatch, MachineTurn};
