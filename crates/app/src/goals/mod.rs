//! Goals, for the commands and the daemon: their files, their ledger, and the reconciliations that
//! check and repair.
//!
//! A reconciliation is worked on by one process, which holds its lock file for as long as it does.
//! All that is needed to resume is recorded: the successor of a process that died takes the lock,
//! reads the progress, and resumes. It reads its result from the record ([`check_result`], [`repair_result`]), never from the
//! process that ran it; [`FileLock`] keeps two processes from working on one.
//!
//! A goal naming a backend can be deployed there ([`deploy_goal`]): the workspace then decides nothing about it, and
//! records what happens there ([`sync_goal`]), until it is recalled ([`recall_goal`]). That is the room `remote`; it and
//! `cycle` name each other, since a reconciliation asks whose goal it is, and a recorded one is settled like any other.
//!
//! Start at `cycle`, then `part_run` and `outcome`; `find` and `ledger` are where goals are, `operate` and `tighten` what
//! people do to them, `attended` and `notify` what they hear of them.

mod apart;
mod attended;
mod autonomy;
mod backfill;
mod cycle;
mod durations;
mod feedback;
mod find;
mod ledger;
mod left;
mod notify;
mod operate;
mod outcome;
mod params;
mod part_run;
mod poke;
mod remote;
mod signals;
mod tighten;

pub use crate::state::file_lock::{FileLock, FileLockBusy, LEADER_LOCK, remove_stale_locks};
pub use apart::{goal_lines, read_in_child, read_in_child_async};
pub use attended::{
    GoalFinding, approval_gap, check_goals_scheduled, check_standing_approvals, ending_approvals, job_block,
};
pub(crate) use autonomy::verified_reader;
pub use autonomy::{AutonomyStatus, grant_of};
pub use backfill::GoalBackfill;
pub use cycle::{
    ObserverFactory, ReconciliationRequest, ReconciliationResult, adopt_reconciliation, start_reconciliation,
};
pub use durations::longest_reconciliations;
pub use feedback::{RecordedOpinion, RepairOpinionRequest, record_opinion};
pub use find::{
    FOLDERS, GoalFile, GoalFileError, GoalSource, find_path, find_paths, list_goals, list_goals_on_disk,
    list_goals_with_acceptance, load_by_id, load_by_name, load_named_goal,
};
pub(crate) use ledger::{StoreLedger, ledger_of, with_recorded_schedule};
pub use left::resumable_reconciliations;
pub use notify::{GoalNotificationError, send_goal_notification, send_notifications};
pub use operate::{GoalPauseOutcome, GoalResumeOutcome, pause_goal, request_reconciliation, resume_goal};
pub use outcome::{check_result, open_reason, own_checks, repair_result};
pub use params::reconciliation_params;
pub use poke::{WAKE_FILE, handle_start_failure, wake_daemon};
pub(crate) use remote::deployed::check_not_deployed;
pub use remote::{
    deploy::{GoalDeployOutcome, deploy_goal},
    deployed::{deployed_goals, read_deployment},
    deployment::{
        DeployedGoal, DeployedPart, DeployedRecord, GoalAct, GoalAnswer, GoalDeployment, GoalRequest,
        RecordBatch, StartedRun,
    },
    recall::{forget_deployment, recall_goal},
    request::run_deployed,
    sync::{GoalSyncOutcome, SyncEnd, SyncExtent, sync_goal},
};
pub use tighten::{GoalTightenOutcome, tighten_goal};
