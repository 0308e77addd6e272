//! The locks and the budgets of the tasks of all runs. Locks are names, each a workflow of its own, which runs tell what they
//! want, and which tells them; and files, which the runs of one workspace share. What the work of any host may use is set
//! aside before it calls a model.

use super::{RunDriver, RunInput};
use crate::{
    locks::{
        file_claims::FamilyClaim,
        lock_claims::{LockClaim, LockRight},
        queue::{LockMessage, LockNotice, LockTicket},
    },
    messages::command::DriverCommand,
    run::open_work::OpenWork,
};
use wf_base::name::RunId;
use wf_core::{
    machine::{AttemptUsage, EventKind, InputKind, TaskId, TaskLocks},
    run_ledgers::RunLedgers,
};

/// Asks for the locks of a task: first that with a name, and then, all at once, the files, so no two tasks wait for
/// each other.
pub(super) fn lock(driver: &mut RunDriver, run: &RunId, task_id: TaskId, locks: TaskLocks) {
    let claim = FamilyClaim { run: run.clone(), task_id, files: locks.files };
    let Some(lock) = locks.lock else {
        return claim_files(driver, claim);
    };
    let number = driver.next_key;
    match driver.locks.claim(number, &lock, &claim) {
        LockRight::Granted => claim_files(driver, claim),
        LockRight::Awaited => {}
        LockRight::New => {
            let ticket = ticket(driver, claim.task_id, number);
            tell(driver, run, lock, LockMessage::Acquire(ticket));
        }
    }
}

/// Asks for the files of a task that has its lock, or needs none.
fn claim_files(driver: &mut RunDriver, claim: FamilyClaim) {
    let FamilyClaim { run, task_id, .. } = claim.clone();
    let is_held = driver.claims.take_claim(claim);
    let kind = if is_held { InputKind::Locked { task_id } } else { InputKind::LockHeld { task_id } };
    driver.inputs.push_back(RunInput { run, kind });
}

/// Gives up the locks of a task, or of all tasks of a run, whether they have them or wait.
pub(super) fn unlock(driver: &mut RunDriver, run: &RunId, task_id: Option<&TaskId>) {
    for (number, LockClaim { lock, task, .. }) in driver.locks.remove(run, task_id) {
        let ticket = ticket(driver, task.task_id, number);
        tell(driver, run, lock, LockMessage::Release(ticket));
    }
    for FamilyClaim { run, task_id, .. } in driver.claims.release(run, task_id) {
        driver.inputs.push_back(RunInput { run, kind: InputKind::Locked { task_id } });
    }
}

/// Gives up the locks of what has ended. After a resume, a machine knows of a lock only once it asked for it again.
pub(super) fn unlock_ended(driver: &mut RunDriver, run: &RunId, kind: &EventKind) {
    match kind {
        EventKind::StepEnded { task_id, .. } => unlock(driver, run, Some(task_id)),
        EventKind::RunEnded { .. } => unlock(driver, run, None),
        _ => {}
    }
}

/// Takes the answers of a lock. A lock without a waiting task is given back.
pub(super) fn on_lock(driver: &mut RunDriver, notice: LockNotice) {
    let LockNotice { lock, ticket, holder } = notice.clone();
    match driver.locks.take_notice(notice) {
        None if holder.is_none() => {
            let run = driver.order.run.clone();
            tell(driver, &run, lock, LockMessage::Release(ticket));
        }
        Some(task) if holder.is_none() => claim_files(driver, task),
        _ => {}
    }
}

fn tell(driver: &mut RunDriver, run: &RunId, lock: String, message: LockMessage) {
    let Some(driven) = driver.runs.get(run) else { return };
    let open = OpenWork::for_run(run, &driven.machine);
    let key = driver.next_key;
    driver.next_key += 1;
    driver.open.insert(key, open);
    driver.commands.push(DriverCommand::Tell { key, lock, message });
}

/// Returns the ticket of a task. The workflow hears of it, whichever of its runs the task is of.
fn ticket(driver: &RunDriver, task_id: TaskId, number: u64) -> LockTicket {
    LockTicket { run: driver.order.run.clone(), task_id, number }
}

/// Returns the ledgers of the runs, with what is set aside.
pub(super) fn ledgers(driver: &RunDriver) -> RunLedgers {
    let mut ledgers = RunLedgers::default();
    for (run, driven) in &driver.runs {
        let around = driven.nesting.as_ref().map(|nesting| &nesting.nested.outer);
        ledgers.open_recorded(run, around, driven.machine.ledger().clone());
    }
    for open in driver.open.values() {
        ledgers.replace(&open.run, AttemptUsage::default(), open.set_aside);
    }
    ledgers
}
