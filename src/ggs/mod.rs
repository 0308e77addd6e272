//! The Goal Gradient Solver: from what failed to the direction of the next round (artoo v0.8, R7).
//!
//! A round of a run is measured three ways, each from 0 to 1: *D*, how far the result is from what
//! was asked ([`distance`]); *P*, how much of what failed failed by its approach ([`process`]);
//! *Ω*, how much of the budget is used up ([`resource`]). [`loss`] weighs them together, and
//! [`solve`] looks at how the loss changed and chooses a [`Directive`] by a cascade in which an
//! earlier [`Rule`] wins over each later one.
//!
//! **Invariant:** the same numbers give the same answer, and no number is too strange for one:
//! there is no clock, no state and no chance here. What is compared is what is shown: every number
//! is rounded to six decimals before it is looked at, and JSON gives back the same bits.

mod directive;
mod loss;
mod solve;
mod words;

pub use directive::{Directive, Rule, Urgency};
pub use loss::{Loss, Measures, distance, loss, process, resource};
pub use solve::{Past, Solved, WORSENING, decide, solve};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod table;
