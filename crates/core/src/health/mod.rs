//! The health of what calls go to: models, MCP servers, connections; whatever fails for a while and comes back.
//!
//! One row for each [`CallTarget`] is shared by all processes. A call is admitted by [`TargetHealth::admit`], and its
//! end changes the row by [`TargetHealth::note`]: both are applied where no other process writes meanwhile.
//!
//! **Invariant:** pure; the time is passed in. **Invariant:** whatever a row says, it refuses calls for at most
//! [`TargetHealth::OPEN`] from now.

mod breaker;
mod call_end;
mod target;
mod target_health;

pub use breaker::{BreakerChange, BreakerNote, OpenBreaker};
pub use call_end::CallEnd;
pub use target::{CallTarget, TargetKind};
pub use target_health::TargetHealth;
