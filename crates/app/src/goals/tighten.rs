use super::{
    AutonomyStatus, GoalAct, ledger_of, load_named_goal, remote::deployed::OperatedDeployment,
    verified_reader, wake_daemon,
};
use crate::{Caller, CliExitCode, CommandError, caller::person_key, watch};
use wf_base::{
    name::{PlanId, RunId},
    remedy::{Remedy, UserAction},
};
use wf_store::{
    RunState, StoreReader, WithdrawnApproval,
    feed::{LogAnchor, WorkspaceAction},
};

/// The withdrawal of a standing approval.
pub struct GoalTightenOutcome {
    /// The autonomy of the goal before it.
    pub status: AutonomyStatus,
    /// The repairs already started: they continue.
    pub continuing_repairs: Vec<RunId>,
    /// True if it was not withdrawn before; `None`: there is no approval.
    pub is_new: Option<bool>,
}

/// Withdraws the standing approval of a goal at once; no signature is needed for that.
pub fn tighten_goal(caller: &dyn Caller, name: &str) -> Result<GoalTightenOutcome, CommandError> {
    let (loaded, goal) = load_named_goal(caller, name)?;
    let status = AutonomyStatus::of(caller, &loaded, &goal, verified_reader(&loaded.workspace)?.as_ref())?;
    let id = &goal.id;
    if status.approval.is_none() {
        let message =
            format!("the {}s of {id} need no approval: {} sets `approval: none`", goal.noun(), loaded.path);
        return Err(CommandError::new(CliExitCode::Usage, message).hint(
            Remedy::from("stop them with `")
                .action(UserAction::PauseGoal(id.clone()))
                .text("`, or require an approval: remove `approval: none`"),
        ));
    }
    let (store, reader) = ledger_of(caller.host(), &loaded)?;
    let Some(standing) = status.standing() else {
        let continuing_repairs = continuing_repairs(&reader, id)?;
        return Ok(GoalTightenOutcome { status, continuing_repairs, is_new: None });
    };
    let nonce = standing.statement.nonce.as_str().to_owned();
    let key = person_key(caller);
    let (who, since) = (key.as_ref().map(|key| key.name.clone()), caller.host().now());
    let withdrawn = WithdrawnApproval { nonce: nonce.clone(), goal: id.clone(), who, since };
    let place = store.approvals().withdraw(withdrawn).wait()?;
    let is_new = Some(place.is_some());
    if let Some(place) = place {
        let key = key.map(|key| key.public.id());
        let db = Some(LogAnchor { seq: place.seq, hash: place.hash });
        let act = WorkspaceAction::ApprovalWithdrawn { goal: id.clone(), nonce, key, db };
        watch::record_quietly(caller, act);
    }
    wake_daemon(&loaded.workspace.state);
    drop(store);
    if let Some(deployed) = OperatedDeployment::find_any(caller, id.as_str())? {
        let backend = deployed.backend().to_owned();
        deployed.act(GoalAct::Withdraw).map_err(|error| CommandError {
            message: format!(
                "the approval is withdrawn here, and {id} goes on under it on {backend}, which was not told: {}",
                error.message
            ),
            ..error.remedy("do it again once the backend answers: ", UserAction::TightenGoal(id.clone()))
        })?;
    }
    let continuing_repairs = continuing_repairs(&reader, id)?;
    Ok(GoalTightenOutcome { status, continuing_repairs, is_new })
}

/// Returns the unended repairs of a goal.
fn continuing_repairs(reader: &StoreReader, goal: &PlanId) -> Result<Vec<RunId>, CommandError> {
    let repairs = reader.reconciliations().repairs(goal, usize::MAX)?.into_iter();
    Ok(repairs.filter(|repair| repair.state == RunState::Running).map(|repair| repair.run).collect())
}
