//! Permits: how many steps of all runs of a workspace execute at once, and whose turn is next.
//!
//! A step has a permit while its process, its request, a call of its model or of a tool, or its checks execute. It has none
//! while it waits: for a nested run, a person, a timer or a lock. So who has a permit waits for nobody who needs one, and
//! gives it back.
//!
//! A [`PermitQueue`] is who has one and waiting; [`PermitQueue::next`] chooses, and [`PermitQueue::admit`] says how the
//! others stand then. The sessions take turns, and so do the outermost runs of a session: who was served goes to the end.
//! Runs a person began come before those of schedules, except for every fourth permit.
//!
//! **Invariant:** the same queue gives the same choice. If somebody waits whom no limit keeps back, somebody is chosen.
//! **Invariant:** while a session waits and no limit keeps it back, no other one of its lane is served twice before it;
//! likewise the runs of one session.

mod limits;
mod queue;
#[cfg(test)]
mod tests;

pub use limits::{ParallelLimit, ParallelLimits};
pub use queue::{PermitLane, PermitOwner, PermitQueue, PermitWait, SCHEDULED_SHARE};
