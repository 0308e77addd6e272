//! The rules, and the list of all of them.
//!
//! - `declarations`: declared names, their uses and defaults.
//! - `reads`: the reads of expressions, and texts like them.
//! - `graph`: the order of steps.
//! - `work`: the work of steps, and its settings.
//!
//! **Invariant:** a rule only looks at the scene and notes mistakes; it knows no other rule.
//!
//! Start at `all`: a new rule is a function in one of the rooms, and a line there.

mod all;
mod declarations;
mod graph;
mod reads;
mod work;

pub(super) use all::ALL;
