//! The wake-ups of tasks waiting for what another task of this program has: a lock, or a permit to execute.

use tokio::sync::Notify;

use wf_core::permit::ParallelLimits;

/// The wake-ups of waits for locks. Holders in this program wake waiters at once; holders in others are polled.
#[derive(Default)]
pub(crate) struct LockWakeups {
    pub(crate) freed: Notify,
}

/// The limits of the workspace, and the wake-ups of steps waiting for a permit. Those of this program are woken at
/// once; permits that other processes give back are polled.
#[derive(Default)]
pub(crate) struct PermitWakeups {
    pub(crate) limits: ParallelLimits,
    pub(crate) freed: Notify,
}
