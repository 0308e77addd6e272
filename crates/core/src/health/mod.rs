//! The health of what calls go to: models, and whatever else fails for a while and comes back.
//!
//! **Invariant:** pure; the time is passed in.

mod breaker;
mod target;

pub use breaker::{BreakerChange, BreakerNote};
pub use target::{CallTarget, TargetHealth, TargetKind};
