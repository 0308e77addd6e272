//! The parts of a reconciliation that commands and the daemon share.
//!
//! A reconciliation reads its result from the record ([`check_result`], [`repair_result`]), never from the
//! process that ran it; [`FileLock`] keeps two processes from working on one.

mod file_lock;
mod notifications;
mod outcome;
mod params;

pub use file_lock::{FileLock, FileLockBusy, LEADER_LOCK, remove_stale_locks};
pub use notifications::{FollowUps, follow_ups, notifications};
pub use outcome::{check_result, own_checks, repair_result};
pub use params::reconciliation_params;
