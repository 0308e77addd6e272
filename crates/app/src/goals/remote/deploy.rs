//! The deployment of a goal: its backend decides about it from then on.

use std::sync::Arc;

use serde_json::Value;

use super::{
    deployment::{DeployedGoal, DeployedPart, GoalDeployment},
    goal_backend::{GoalBackend, PreparedGoal},
    sync_lock::lock_sync,
};
use crate::{
    Caller, CliExitCode, CommandError,
    approve::{CarriedApproval, awaited_acceptance, check_accepted, refuse_run, withdrawal_time},
    goals::{
        find::load_by_name,
        ledger::{StoreLedger, ledger_of},
        params::reconciliation_params,
        poke::wake_daemon,
    },
    keys::author,
    runs::backend::{backend_program, of_deployment},
    specs::load::{self, LoadedPlan},
    watch,
};
use wf_base::{
    name::{PlanId, RunId},
    remedy::{Remedy, UserAction},
    time::Moment,
};
use wf_core::goal::{GoalAccountAtDeployment, GoalLedgerState, ReconciliationPart, turn};
use wf_engine::CarriedState;
use wf_lang::DiskFiles;
use wf_model::{Goal, OnUnmet};
use wf_sign::approval::{ApprovalRefusal, ApprovalToken};
use wf_store::{Store, StoreReader, feed::WorkspaceAction};

/// The number of ended reconciliations a backend gets to know, at most.
const KNOWN_ENDS: usize = 1000;

/// The number of attempts to deploy a goal about which a daemon decides meanwhile.
const ATTEMPTS: usize = 5;

/// A deployed goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalDeployOutcome {
    pub goal: PlanId,
    pub deployed: DeployedGoal,
    /// Its next scheduled time; `None`: there is none.
    pub next: Option<Moment>,
}

/// Deploys a goal on its backend, which decides about it, starts its runs and sends its notifications from then on.
pub fn deploy_goal(caller: &dyn Caller, name: &str) -> Result<GoalDeployOutcome, CommandError> {
    let goal = DeployableGoal::load(caller, name)?;
    let workspace = &goal.check_plan.workspace;
    let hold = lock_sync(&workspace.state, &goal.goal.id)?;
    let (store, reader) = ledger_of(caller.host(), &goal.check_plan)?;
    goal.require_free(&reader)?;
    goal.require_accepted(caller)?;
    let (deployed, prepared) = goal.record(caller, &store, &reader)?;
    drop((store, reader));
    let id = &goal.goal.id;
    let act = WorkspaceAction::GoalDeployed {
        goal: id.clone(),
        backend: deployed.backend.clone(),
        workflow: deployed.workflow.clone(),
        key: author(caller.host()).map(|key| key.public.id()),
    };
    watch::record_quietly(caller, act);
    let started = goal.backend.start(prepared);
    drop(hold);
    wake_daemon(&workspace.state);
    started.map_err(|error| CommandError {
        message: format!("{id} is deployed, and not started yet: {}", error.message),
        ..error.remedy("start it: ", UserAction::SyncGoal(id.clone()))
    })?;
    let next = goal.goal.timing.next(caller.host().now()).map(|slot| slot.at);
    Ok(GoalDeployOutcome { goal: id.clone(), deployed, next })
}

/// A goal naming a backend, with the plans of its parts.
struct DeployableGoal {
    goal: Arc<Goal>,
    backend: GoalBackend,
    check_plan: LoadedPlan,
    /// The plan of its repair, or of its steps; `None`: it reports only.
    repair_plan: Option<LoadedPlan>,
}

impl DeployableGoal {
    fn load(caller: &dyn Caller, name: &str) -> Result<Self, CommandError> {
        let (check_plan, goal) = load_by_name(caller, name)?;
        let Some(backend) = &goal.backend else {
            let message = format!("{} names no backend, so {} cannot be deployed", check_plan.path, goal.id);
            return Err(CommandError::new(CliExitCode::Usage, message)
                .hint("add `backend: NAME` to it, with a name under `backends` in wf.yaml"));
        };
        let host = caller.host();
        let repair_plan = match goal.on_failure {
            OnUnmet::Report => None,
            OnUnmet::SpawnPlan => {
                let files = DiskFiles::new(&check_plan.workspace.root);
                let (workspace, part) = (check_plan.workspace.clone(), ReconciliationPart::Repair);
                Some(load::load_goal(caller, &files, workspace, &check_plan.path, part)?.0)
            }
        };
        for part in [Some(&check_plan), repair_plan.as_ref()].into_iter().flatten() {
            backend_program(host, part, backend.as_str())?;
        }
        let backend = GoalBackend::of(host, &check_plan.config, &check_plan.workspace, backend.as_str())?;
        Ok(Self { goal, backend, check_plan, repair_plan })
    }

    /// Refuses a deployed goal, or one with something under way here.
    fn require_free(&self, reader: &StoreReader) -> Result<(), CommandError> {
        let id = &self.goal.id;
        let refused = |message: String, text: &str, action| {
            Err(CommandError::new(CliExitCode::Usage, message).remedy(text, action))
        };
        if reader.goals().deployment(id)?.is_some() {
            return refused(
                format!("{id} is deployed already"),
                "take it back first: ",
                UserAction::RecallGoal(id.clone()),
            );
        }
        let live = reader.reconciliations().open()?.into_iter();
        let waiting = reader.reconciliations().waiting()?.into_iter();
        let Some(open) = live.chain(waiting).find(|cycle| cycle.goal == *id) else { return Ok(()) };
        let run = open.repair.as_ref().unwrap_or(&open.run);
        refused(
            format!("{id} has a reconciliation under way here: run {}", run.short()),
            "wait until it has ended, or end it: ",
            UserAction::CancelRun(run.clone()),
        )
    }

    /// Refuses a goal without a person's acceptance as it is.
    fn require_accepted(&self, caller: &dyn Caller) -> Result<(), CommandError> {
        let (path, id) = (&self.check_plan.path, &self.goal.id);
        if let Some(awaited) = awaited_acceptance(caller, &self.check_plan)? {
            let error = CommandError::new(CliExitCode::Approval, format!("{path} {awaited}"));
            return Err(error.remedy("accept it: ", UserAction::AcceptGoal(id.clone())));
        }
        check_accepted(caller, &self.check_plan)?
            .map_err(|refusal| refuse_run(caller, &self.check_plan.workspace, path, &refusal))
    }

    /// Prepares the goal on its backend, and records that it is deployed.
    fn record(
        &self,
        caller: &dyn Caller,
        store: &Store,
        reader: &StoreReader,
    ) -> Result<(DeployedGoal, PreparedGoal), CommandError> {
        let id = &self.goal.id;
        for _ in 0..ATTEMPTS {
            let now = caller.host().now();
            turn(&self.goal, &mut StoreLedger { store, reader, token: None }, now)?;
            self.require_free(reader)?;
            let Some(state) = reader.goals().ledger(id)? else { continue };
            let prepared = self.backend.prepare(self.deployment(caller, reader, state.clone())?)?;
            let deployed = DeployedGoal {
                backend: self.backend.name().to_owned(),
                workflow: prepared.workflow.clone(),
                spec: prepared.spec,
                since: now,
                recorded: 0,
            };
            let json = serde_json::to_value(&deployed).unwrap_or_default();
            if store.goals().deploy(id, json, state, now).wait()? {
                return Ok((deployed, prepared));
            }
        }
        let message = format!("a daemon decides about {id} faster than it can be deployed");
        Err(CommandError::new(CliExitCode::State, message).hint(
            Remedy::from("pause it meanwhile: ")
                .action(UserAction::PauseGoal(id.clone()))
                .text("; after that, ")
                .action(UserAction::ResumeGoal(id.clone())),
        ))
    }

    /// Returns the freight to the backend.
    fn deployment(
        &self,
        caller: &dyn Caller,
        reader: &StoreReader,
        state: GoalLedgerState,
    ) -> Result<GoalDeployment, CommandError> {
        let (goal, host) = (&self.goal, caller.host());
        let id = host.random_id(&format!("deployment of {} at {}", goal.id, host.now()))?;
        let name = format!("{}-{}", goal.id, RunId::from_bytes(id));
        let ended = reader
            .reconciliations()
            .latest(&goal.id, KNOWN_ENDS)?
            .into_iter()
            .filter_map(|cycle| cycle.ended);
        let account = GoalAccountAtDeployment {
            known: state,
            ends: ended.map(|(at, health, _)| (at, health)).collect(),
            resumed: reader.goals().resumed_at(&goal.id)?,
        };
        let part = |loaded: &LoadedPlan| {
            let part = self.part(caller, loaded, &name);
            part.map_err(|error| standing_approval_hint(error, &loaded.path))
        };
        let look = part(&self.check_plan)?;
        let repair = self.repair_plan.as_ref().map(part).transpose()?;
        let whole = self.repair_plan.as_ref().unwrap_or(&self.check_plan);
        let token = look.approval.token.clone();
        Ok(GoalDeployment {
            name,
            goal: Goal::clone(goal),
            account,
            path: self.check_plan.path.clone(),
            sources: self.check_plan.sources.iter().cloned().chain([token]).collect(),
            look,
            repair,
            carried: CarriedState::of_plan(&whole.plan, reader, !whole.options.no_cache)?,
            root: whole.workspace.root.clone(),
            state: whole.workspace.state.clone(),
        })
    }

    /// Returns what the backend needs for the runs of a part, which an approver allowed in advance.
    fn part(
        &self,
        caller: &dyn Caller,
        loaded: &LoadedPlan,
        deployment: &str,
    ) -> Result<DeployedPart, CommandError> {
        let (workspace, now) = (&loaded.workspace, caller.host().now());
        let part = loaded.options.part.unwrap_or(ReconciliationPart::Look);
        let params = reconciliation_params(&loaded.plan, &self.goal, None, &[])?;
        let approval = CarriedApproval::read(caller, loaded, part, &params)?;
        let refused = |refusal: ApprovalRefusal| refuse_run(caller, workspace, &loaded.path, &refusal);
        let token = ApprovalToken::parse(&approval.token.1).map_err(refused)?;
        if let Some(at) = withdrawal_time(workspace, &self.goal.id, token.statement(), now)? {
            return Err(refused(ApprovalRefusal::Withdrawn(at)));
        }
        let run = RunId::from_bytes([0; 16]);
        approval.authorize(part, &run, &params, approval.used, now).map_err(refused)?;
        let config = of_deployment(loaded.options.write_to(Value::Null), self.backend.name(), deployment);
        Ok(DeployedPart { config, approval })
    }
}

/// Adds the way to an approval for many runs, if a goal lacks that.
fn standing_approval_hint(error: CommandError, path: &str) -> CommandError {
    if error.exit != CliExitCode::Approval {
        return error;
    }
    error.remedy("for many runs: ", UserAction::ApproveRuns(path.to_owned()))
}
