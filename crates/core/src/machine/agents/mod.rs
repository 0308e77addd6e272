//! The agents: their calls, their child runs, their merges, and the help for those whose attempts fail.
//!
//! **Invariant:** no call is made before the fact that it begins is durable, and none whose end is recorded is made again.
//!
//! Start at `agent`, the loop of calls; `client` is the same for programs that call the model themselves. `exchange` and
//! `tool_approval` are where gates come between, `compaction` and `children` go on from there. `merging` follows the end of an
//! attempt; `guidance` and `stuck` are asked when attempts fail.

pub(super) mod agent;
pub(super) mod children;
pub(super) mod client;
pub(super) mod compaction;
pub(super) mod exchange;
pub(super) mod guidance;
pub(super) mod merging;
pub(super) mod stuck;
pub(super) mod tool_approval;
