//! The end of the deployment of a goal.

use std::time::Duration;

use super::{
    deployed::{DeployedAccount, OperatedDeployment, require_deployed},
    deployment::GoalAct,
    sync::{GoalSyncOutcome, SyncEnd, SyncExtent},
    sync_lock::{is_synced, lock_sync},
};
use crate::{
    Caller, CommandError,
    goals::{cycle::ObserverFactory, poke::wake_daemon, signals::SignalListener},
    keys::author,
    watch,
};
use wf_base::name::PlanId;
use wf_store::{Store, StoreDurability, StoreReader, feed::WorkspaceAction};

/// The pause between two looks for what another process records.
const POLL: Duration = Duration::from_millis(300);

/// Recalls a goal from its backend: it starts nothing more there, and once what is under way has ended, its workspace decides
/// about it again. `cancels`: what is under way is cancelled.
pub fn recall_goal(
    caller: &dyn Caller,
    name: &str,
    cancels: bool,
    observe: ObserverFactory<'_>,
) -> Result<GoalSyncOutcome, CommandError> {
    let operated = OperatedDeployment::find(caller, name)?;
    let (goal, backend) = (operated.goal().clone(), operated.backend().to_owned());
    let state = caller.host().workspace().state;
    let act = WorkspaceAction::GoalRecalled {
        goal: goal.clone(),
        backend: backend.clone(),
        key: author(caller.host()).map(|key| key.public.id()),
    };
    if !is_synced(&state, &goal) {
        let mut account = DeployedAccount::of(operated)?;
        account.start_if_new()?;
        account.act(GoalAct::Recall { cancels })?;
        watch::record_quietly(caller, act);
        return account.sync(SyncExtent::Future, observe);
    }
    operated.act(GoalAct::Recall { cancels })?;
    watch::record_quietly(caller, act);
    // The process that records what happens there records the end.
    let mut signals = SignalListener::listen()?;
    let end = loop {
        if StoreReader::open(&state)?.goals().deployment(&goal)?.is_none() {
            break SyncEnd::Recalled;
        }
        if signals.exit_requested_within(POLL) {
            break SyncEnd::Interrupted;
        }
    };
    Ok(GoalSyncOutcome { goal, backend, count: 0, end })
}

/// Takes a goal back without its backend, which is lost. If it is not, it goes on with the goal, and neither knows what the
/// other does.
pub fn forget_deployment(caller: &dyn Caller, name: &str) -> Result<PlanId, CommandError> {
    let host = caller.host();
    let state = host.workspace().state;
    let (row, deployed) = require_deployed(host, name)?;
    let goal = row.id;
    let hold = lock_sync(&state, &goal)?;
    let store = Store::open_with_lease(&state, StoreDurability::Full, host.clock(), host.lease()?)?;
    store.goals().record_deployment(&goal, None, host.now()).wait()?;
    drop((store, hold));
    let key = author(host).map(|key| key.public.id());
    let act = WorkspaceAction::GoalRecalled { goal: goal.clone(), backend: deployed.backend, key };
    watch::record_quietly(caller, act);
    wake_daemon(&state);
    Ok(goal)
}
