//! Memory: what runs found out, and what follows from it for the next one (artoo v0.8, R5).
//!
//! A [`Megram`] is one thing that happened: a [`State`] of the solver, what it was about ([`Tags`])
//! and three numbers: how much it counts (f), for or against (σ), how fast it fades (k). What is
//! known of a cluster, all megrams of the same tags, is read in two channels ([`potentials`]):
//! *attention*, how much there is, and *decision*, which way it points; an [`Action`] follows. The
//! Dreamer ([`dream`]) forgets what faded, makes rules of what is certain, and takes a rule back
//! that the evidence contradicts. [`advise`] is what a planner asks.
//!
//! **Invariant:** nothing here reads a clock or draws by chance; whoever calls says what time it is.
//! **Invariant:** the order of the megrams never matters. **Invariant:** nothing is changed but by
//! the Dreamer; who corrects an error adds a megram ([`against`]).

mod advice;
mod distil;
mod dreamer;
#[cfg(test)]
mod laws;
mod level;
mod line;
mod lines;
mod megram;
mod potential;
mod rule;
mod state;
mod tags;
#[cfg(test)]
mod tests;

pub use advice::{Advice, Pair, advise, ruled};
pub use dreamer::{ATTENTION_OF_A_RULE, DECISION_OF_A_RULE, DEMOTED_K, Dream, FORGOTTEN, dream};
pub use level::Level;
pub use lines::{BadLine, read_lines, write_lines};
pub use megram::{Megram, Origin};
pub use potential::{ATTENTION, Action, DECISION, Potentials, Share, clusters, potentials, share};
pub use rule::{NotARule, Sense, against};
pub use state::{State, Weights};
pub use tags::{BadTag, Tags};
