//! Plans and their steps: the graph of work, the work of each step, the settings of both.
//!
//! A plan has steps, and the work of a step may be another plan: used ([`work`]), made by a run ([`generated`]) or started by
//! an agent ([`agent`]). So plans and steps are one room.
//!
//! - [`plan`]: a plan; [`param`], [`planner`], [`replan`], [`suggestion`]: settings of it.
//! - [`step`]: a step, its locks and claims; [`item_key`]: the names of its items.
//! - [`work`]: the work of a step; [`agent`]: that of an agent.
//! - [`definition`]: the answer to the question if two steps are the same.
//!
//! **Invariant:** only `Plan::new` makes a plan, so its step ids are unique, its dependencies exist, and it has no cycle.
//!
//! Start at [`plan`], then [`step`] and [`work`].

pub(crate) mod agent;
pub mod definition;
pub(crate) mod generated;
pub(crate) mod item_key;
pub(crate) mod param;
pub(crate) mod plan;
pub(crate) mod planner;
pub(crate) mod replan;
pub(crate) mod step;
pub(crate) mod suggestion;
pub(crate) mod work;
