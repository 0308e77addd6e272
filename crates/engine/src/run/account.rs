//! The amounts the calls of a run are paid from: its own budget, and those of the runs around it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wf_base::{name::RunId, time::Moment};
use wf_core::{
    machine::{AttemptUsage, Event},
    run_ledgers::{CallClaim, RunLedgers},
};

use crate::session::hosts::{SharedLedgers, UnpaidCall, WorkClaim};

/// The place of a run among the ledgers of all that is worked on with it.
#[derive(Clone, Debug)]
pub(crate) struct RunAccount {
    run: RunId,
    ledgers: Arc<Mutex<RunLedgers>>,
    /// The ledgers, with the work of other hosts.
    shared: Option<Arc<dyn SharedLedgers>>,
}

/// An amount set aside for calls. Dropping it gives it back: the usage of the calls is in events then.
#[derive(Debug)]
pub(crate) struct SetAside {
    account: RunAccount,
    usage: AttemptUsage,
}

impl RunAccount {
    /// Opens the account of a run; `around`: of the run it is nested in; `shared`: the work of other hosts counts, too.
    pub(crate) fn open(run: &RunId, around: Option<&Self>, shared: Option<&Arc<dyn SharedLedgers>>) -> Self {
        let ledgers = around.map_or_else(Arc::default, |around| Arc::clone(&around.ledgers));
        let account = Self { run: run.clone(), ledgers, shared: shared.cloned() };
        account.ledgers().open(run, around.map(|around| &around.run));
        account
    }

    pub(crate) fn apply(&self, event: &Event) {
        self.ledgers().apply(&self.run, event);
    }

    /// Returns what the run has used, for the run it is nested in.
    pub(crate) fn usage(&self) -> AttemptUsage {
        self.ledgers().recorded(&self.run)
    }

    /// Returns the time when the run began.
    pub(crate) fn started(&self) -> Option<Moment> {
        self.ledgers().started(&self.run)
    }

    /// Returns the time when this run, or one around it, began.
    pub(crate) fn started_of(&self, run: &RunId) -> Option<Moment> {
        self.ledgers().started(run)
    }

    /// Begins to set aside amounts for calls: nothing yet.
    pub(crate) fn nothing_set_aside(&self) -> SetAside {
        SetAside { account: self.clone(), usage: AttemptUsage::default() }
    }

    fn ledgers(&self) -> MutexGuard<'_, RunLedgers> {
        self.ledgers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SetAside {
    /// Sets an amount aside instead of the one before, if the budgets of the run and of those around it suffice.
    pub(crate) async fn change(&mut self, usage: AttemptUsage) -> Result<(), UnpaidCall> {
        self.claim(usage, false).await
    }

    /// Does the same for a call the budget of the run itself allows.
    pub(crate) async fn change_around(&mut self, usage: AttemptUsage) -> Result<(), UnpaidCall> {
        self.claim(usage, true).await
    }

    /// Gives back the rest of a call.
    pub(crate) fn keep(&mut self, usage: AttemptUsage) {
        self.account.ledgers().replace(&self.account.run, self.usage, usage);
        self.usage = usage;
    }

    async fn claim(&mut self, usage: AttemptUsage, own_allows: bool) -> Result<(), UnpaidCall> {
        let RunAccount { run, shared, .. } = &self.account;
        let is_limited = self.account.ledgers().limits_calls(run);
        if let Some(shared) = shared.as_ref().filter(|_| is_limited) {
            let refusal =
                shared.claim(WorkClaim { wanted: usage, own_allows }).await.map_err(UnpaidCall::Unasked)?;
            return refusal.map_or(Ok(()), |refusal| Err(UnpaidCall::Budget(refusal)));
        }
        let claim = CallClaim { run, before_usage: self.usage, wanted_usage: usage, own_allows };
        self.account.ledgers().claim(&claim).map_err(UnpaidCall::Budget)?;
        self.usage = usage;
        Ok(())
    }
}

impl Drop for SetAside {
    fn drop(&mut self) {
        self.keep(AttemptUsage::default());
    }
}
