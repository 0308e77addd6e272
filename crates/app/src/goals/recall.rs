use std::time::Duration;

use super::deployed::{DeployedAccount, OperatedDeployment};
use super::signals::SignalListener;
use super::sync_lock::is_synced;
use super::{GoalAct, GoalSyncOutcome, ObserverFactory, SyncEnd, SyncExtent};
use crate::keys::author;
use crate::{Caller, CommandError, watch};
use wf_store::StoreReader;
use wf_store::feed::WorkspaceAction;

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
        let account = DeployedAccount::of(operated)?;
        account.start_if_new()?;
        account.act(GoalAct::Recall { cancels })?;
        watch::record_quietly(caller, act);
        return account.sync(SyncExtent::Future, observe);
    }
    operated.act(GoalAct::Recall { cancels })?;
    watch::record_quietly(caller, act);
    // The process that records what happens there records the end.
    let mut told = SignalListener::listen()?;
    let end = loop {
        if StoreReader::open(&state)?.deployment(&goal)?.is_none() {
            break SyncEnd::Recalled;
        }
        if told.exit_requested_within(POLL) {
            break SyncEnd::Interrupted;
        }
    };
    Ok(GoalSyncOutcome { goal, backend, count: 0, end })
}
