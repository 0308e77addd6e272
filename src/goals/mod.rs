//! Goals, for the commands and the daemon: their files, their ledger, and the reconciliations that
//! check and repair.
//!
//! A reconciliation is worked on by one process, which holds its lock file for as long as it does.
//! All that is needed to resume is recorded: the successor of a process that died takes the lock,
//! reads the progress, and resumes.

mod apart;
mod attended;
mod autonomy;
mod cycle;
mod find;
mod ledger;
mod left;
mod poke;
mod tell;
mod told;

pub use apart::{read_in_child, read_in_child_async, write_goals};
pub use attended::check_goals_scheduled;
pub use autonomy::{AutonomyStatus, grant_of};
pub use cycle::{ReconciliationRequest, ReconciliationResult, adopt_reconciliation, start_reconciliation};
pub use find::{
    FOLDERS, GoalFile, GoalSource, find_path, list_goals, list_goals_on_disk, list_goals_with_acceptance,
    load_by_name,
};
pub use ledger::{StoreLedger, ledger_of, with_recorded_schedule};
pub use left::resumable_reconciliations;
pub use poke::{WAKE_FILE, handle_start_failure, wake_daemon};
pub use tell::send_notifications;
