//! The repair of a state whose tables differ from its log.

use std::path::Path;

use super::{
    doctor::MAX_NAMED,
    file_lock::{FileLock, LEADER_LOCK},
};
use crate::{Caller, CliExitCode, CommandError, Host, watch};
use wf_base::remedy::{Remedy, UserAction};
use wf_store::{
    ProjectionDifference, StateFault, StateFolder, Store, StoreDurability, StoreError, StoreReader, examine,
    feed::WorkspaceAction, verify_chain,
};

/// Rebuilds the tables beside the log; returns what differed before.
///
/// The log is verified first, and again by the transaction that rebuilds. Processes at work are refused
/// although none could write meanwhile: they have read the tables as they were.
pub fn repair_state(caller: &dyn Caller) -> Result<Vec<String>, CommandError> {
    let repaired = rebuild(caller.host())?;
    if !repaired.is_empty() {
        let differences = repaired.len() as u64;
        watch::record_quietly(caller, WorkspaceAction::Repaired { differences });
    }
    Ok(repaired.iter().map(ProjectionDifference::to_string).collect())
}

fn rebuild(host: &Host) -> Result<Vec<ProjectionDifference>, CommandError> {
    let dir = host.workspace().state;
    let before = differences(&dir)?;
    if before.is_empty() {
        return Ok(before);
    }
    StateFolder::new(&dir).may_be_written()?;
    let Ok(_lead) = FileLock::try_lock(&dir, LEADER_LOCK)? else {
        let message = format!("a daemon works on {}; nothing was changed", dir.display());
        let error = CommandError::new(CliExitCode::Usage, message);
        return Err(error.hint("stop the daemon, then repeat this command"));
    };
    if let Some((run, lease)) = StoreReader::open(&dir)?.leases().held()?.pop() {
        let lease = Box::new(lease);
        return Err(StoreError::Owned { run, lease }.into());
    }
    let store = Store::open(&dir, StoreDurability::Full, host.clock())?;
    store.rebuild().wait()?;
    drop(store);
    match differences(&dir)?.first() {
        None => Ok(before),
        Some(left) => {
            let message = format!("{left}, also after the tables were rebuilt");
            Err(CommandError::new(CliExitCode::State, message)
                .hint(Remedy::from("restore a backup with `").action(UserAction::RestoreBackup).text("`")))
        }
    }
}

/// Returns where the tables differ from a log that is intact. Fails if something differs that cannot be
/// made from the log.
fn differences(dir: &Path) -> Result<Vec<ProjectionDifference>, CommandError> {
    let reader = StoreReader::open(dir)?;
    let path = StateFolder::new(dir).database();
    if let Some(cause) = reader.find_damage()? {
        return Err(refusal(&StoreError::Corrupt { path, cause }));
    }
    if let Err(broken) = verify_chain(&reader)? {
        return Err(refusal(&StoreError::Broken { path, broken }));
    }
    let (mut rows, mut others) = (Vec::new(), Vec::new());
    for fault in examine(&reader)? {
        match fault {
            StateFault::Projection(row) => rows.push(row),
            StateFault::Schema(_) | StateFault::Body(_) => others.push(fault.to_string()),
        }
    }
    let Some(first) = others.first() else {
        return Ok(rows);
    };
    let mut error = refusal(&StoreError::Tampered { path, what: first.clone() });
    error.details = others.into_iter().skip(1).take(MAX_NAMED).collect();
    Err(error)
}

/// A fault beyond a rebuild of tables.
fn refusal(error: &StoreError) -> CommandError {
    let message = format!("{error}; this cannot be made from the log, so nothing was changed");
    CommandError::new(CliExitCode::State, message).hint(error.remedy())
}
