//! The rounds of a plan with `replan`: measured, judged, and redirected to other alternatives.
//!
//! **Invariant:** no alternative is taken twice, and each round is recorded before its consequences.
//!
//! Start at `fan_in`, which judges a round; `measure` and `actuator` are its pure halves. `planner`, `request` and
//! `restrictions` ask for an alternative when none is left; `memory` takes and gives advice.

pub(super) mod fan_in;
pub(super) mod memory;
pub(super) mod planner;
pub(super) mod request;

mod actuator;
mod measure;
mod restrictions;
