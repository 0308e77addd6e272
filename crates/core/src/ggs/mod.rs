//! The Goal Gradient Solver: from failures to the direction of the next round (artoo v0.8, R7).
//!
//! A round of a run has three measures, each from 0 to 1: *D*, the distance of the result from the goal
//! ([`distance`]); *P*, the share of the failures due to the approach ([`process`]); *Ω*, the share of the
//! budget used up ([`resource`]). [`loss()`] weighs them together, and [`solve()`] looks at the change of the
//! loss and chooses a [`Directive`] by a cascade in which an earlier [`GgsRule`] wins over each later one.
//!
//! **Invariant:** the same numbers give the same answer, and every number gives one: there is no
//! clock, no state and no chance here. The compared numbers are the ones shown: every number is
//! rounded to six decimals before it is used, and JSON gives back the same bits.

mod directive;
mod loss;
mod solve;
mod words;

pub use directive::{Directive, DirectiveUrgency, GgsRule};
pub use loss::{RoundLoss, RoundMeasures, distance, loss, process, resource};
pub use solve::{PreviousRound, SolverOutcome, WORSENING, decide, solve};
pub use words::format_number;

#[cfg(test)]
mod tests;
