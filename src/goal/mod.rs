//! What becomes of the slots of a goal: a decision from the clock and the ledger, and nothing else.
//!
//! A *slot* is an instant at which a goal is due. [`decide`](decide()) looks at all slots that the ledger
//! does not account for yet and says of each what becomes of it, by the rules of the goal:
//! *due* (a cycle is to begin), *queued* (it waits for another), *skipped* or *missed*. The store
//! writes all of that in one transaction, together with how far has been looked. A cycle begins
//! when its run is recorded, in the transaction that turns its slot from due to *started*.
//!
//! [`turn`](turn()) does that for one goal with a [`Ledger`]; [`Looking`] is the same for whoever may
//! not wait for one. The daemon's is the store, and that of [`simulate`], which lets a daemon live
//! through a year without waiting for it, is in memory. [`Agenda`] says which goals are to be looked
//! at: those that are due, however many there are.
//! [`concluded`] says how a cycle ended, and [`news`] what that is to tell.
//!
//! [`counted`] says what people thought of the repairs of a goal, [`advise`] what may follow for what
//! it may do by itself, and [`withdrawn`] whether an approval was taken back.
//!
//! **Invariant:** slots come from the clock and the ledger, never from the last run: of a slot
//! that is accounted for nothing more is decided, whatever becomes of the clock.
//! **Invariant:** nothing here reads a clock, a disk or a network.

mod agenda;
mod autonomy;
mod conclude;
mod decide;
mod known;
mod memory;
mod opinion;
mod row;
mod sim;
#[cfg(test)]
mod tests;
mod turn;
mod withdrawal;

pub use agenda::Agenda;
pub use autonomy::{Advice, SHORTEST, Way, advise, narrower};
pub use conclude::{
    Health, Looked, Next, Part, Repaired, Verdict, concluded, failed_in_a_row, news,
};
pub use decide::{Decision, decide, paused_until, rescheduled};
pub use known::{Known, Live, Open};
pub use memory::MemoryLedger;
pub use opinion::{Counts, Grant, Opinion, Sample, counted, most_samples};
pub use row::{Cause, Row, SlotState, cut_off};
pub use sim::{Scenario, Simulated, simulate};
pub use turn::{Entry, Ledger, Looking, Turn, turn};
pub use withdrawal::{Withdrawal, withdrawn};
