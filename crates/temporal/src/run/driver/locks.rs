//! The locks and the budgets of the tasks of all runs. Locks are names, each a workflow of its own, which runs tell what they
//! want, and which tells them; and files, which the runs of one workspace share. What the work of any host may use is set
//! aside before it calls a model.

use wf_base::name::RunId;
use wf_core::{
    machine::{AttemptUsage, EventKind, InputKind, TaskId, TaskLocks},
    run_ledgers::{BudgetRefusal, CallClaim, RunLedgers},
};
use wf_engine::WorkClaim;

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

impl RunDriver {
    /// Asks for the locks of a task: first that with a name, and then, all at once, the files, so no two tasks wait for
    /// each other.
    pub(super) fn lock(&mut self, run: &RunId, task_id: TaskId, locks: TaskLocks) {
        let claim = FamilyClaim { run: run.clone(), task_id, files: locks.files };
        let Some(lock) = locks.lock else {
            return self.claim_files(claim);
        };
        let number = self.next_key;
        match self.locks.claim(number, &lock, &claim) {
            LockRight::Granted => self.claim_files(claim),
            LockRight::Awaited => {}
            LockRight::New => self.tell(run, lock, LockMessage::Acquire(self.ticket(claim.task_id, number))),
        }
    }

    /// Asks for the files of a task that has its lock, or needs none.
    fn claim_files(&mut self, claim: FamilyClaim) {
        let FamilyClaim { run, task_id, .. } = claim.clone();
        let is_held = self.claims.take_claim(claim);
        let kind = if is_held { InputKind::Locked { task_id } } else { InputKind::LockHeld { task_id } };
        self.inputs.push_back(RunInput { run, kind });
    }

    /// Gives up the locks of a task, or of all tasks of a run, whether they have them or wait.
    pub(super) fn unlock(&mut self, run: &RunId, task_id: Option<&TaskId>) {
        for (number, LockClaim { lock, task, .. }) in self.locks.remove(run, task_id) {
            let ticket = self.ticket(task.task_id, number);
            self.tell(run, lock, LockMessage::Release(ticket));
        }
        for FamilyClaim { run, task_id, .. } in self.claims.release(run, task_id) {
            self.inputs.push_back(RunInput { run, kind: InputKind::Locked { task_id } });
        }
    }

    /// Gives up the locks of what has ended. After a resume, a machine knows of a lock only once it asked for it again.
    pub(super) fn unlock_ended(&mut self, run: &RunId, kind: &EventKind) {
        match kind {
            EventKind::StepEnded { task_id, .. } => self.unlock(run, Some(task_id)),
            EventKind::RunEnded { .. } => self.unlock(run, None),
            _ => {}
        }
    }

    /// Takes the answers of a lock. A lock without a waiting task is given back.
    pub(super) fn on_lock(&mut self, notice: LockNotice) {
        let LockNotice { lock, ticket, holder } = notice.clone();
        match self.locks.take_notice(notice) {
            None if holder.is_none() => {
                let run = self.order.run.clone();
                self.tell(&run, lock, LockMessage::Release(ticket));
            }
            Some(task) if holder.is_none() => self.claim_files(task),
            _ => {}
        }
    }

    fn tell(&mut self, run: &RunId, lock: String, message: LockMessage) {
        let Some(driven) = self.runs.get(run) else { return };
        let open = OpenWork::for_run(run, &driven.machine);
        let key = self.next_key;
        self.next_key += 1;
        self.open.insert(key, open);
        self.commands.push(DriverCommand::Tell { key, lock, message });
    }

    /// Returns the ticket of a task. The workflow hears of it, whichever of its runs the task is of.
    fn ticket(&self, task_id: TaskId, number: u64) -> LockTicket {
        LockTicket { run: self.order.run.clone(), task_id, number }
    }
}

impl RunDriver {
    /// True if some work is under way.
    pub fn is_under_way(&self, key: u64) -> bool {
        self.open.contains_key(&key)
    }

    /// Sets an amount aside for some work, until its end is reported, if the budgets of its run and of those around it
    /// suffice. Returns the refusal if they do not.
    pub fn claim(&mut self, key: u64, claim: WorkClaim) -> Option<BudgetRefusal> {
        let mut ledgers = self.ledgers();
        let open = self.open.get_mut(&key)?;
        let WorkClaim { wanted, own_allows } = claim;
        let claim =
            CallClaim { run: &open.run, before_usage: open.set_aside, wanted_usage: wanted, own_allows };
        let refusal = ledgers.claim(&claim).err();
        if refusal.is_none() {
            open.set_aside = wanted;
        }
        refusal
    }

    /// Returns the ledgers of the runs, with what is set aside.
    fn ledgers(&self) -> RunLedgers {
        let mut ledgers = RunLedgers::default();
        for (run, driven) in &self.runs {
            let around = driven.nesting.as_ref().map(|nesting| &nesting.nested.outer);
            ledgers.open_recorded(run, around, driven.machine.ledger().clone());
        }
        for open in self.open.values() {
            ledgers.replace(&open.run, AttemptUsage::default(), open.set_aside);
        }
        ledgers
    }
}
