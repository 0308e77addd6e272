//! The permits of a deployed goal: each of its runs starts under the approval that came along, verified as where it was signed.

use std::{collections::BTreeMap, sync::Arc};

use wf_app::goals::{DeployedPart, reconciliation_params};
use wf_base::{digest::Sha256Digest, time::Moment};
use wf_core::{
    goal::{ReconciliationPart, ReconciliationRun, RunPermits},
    machine::{Machine, RunApproval},
};
use wf_engine::RetriedResults;
use wf_model::{JsonObject, Plan};
use wf_sign::approval::ApprovalRefusal;

use crate::{
    files::objects::{ObjectError, Objects},
    messages::{
        goal_order::{DeployedGoalSpec, PermitAccount, PermittedRun},
        order::RunSpec,
    },
    run::{plan::RunPlans, progress::DriverError},
};

/// The permits, and the stored part of each run with one.
pub(crate) struct GoalPermits {
    spec: Arc<DeployedGoalSpec>,
    look_plan: Arc<Plan>,
    repair_plan: Option<Arc<Plan>>,
    objects: Objects,
    pub(crate) account: PermitAccount,
    pub(crate) now: Moment,
    /// The reason why a run could not be stored, which is no refusal: it is tried again.
    error: Option<ObjectError>,
}

impl GoalPermits {
    /// Reads the plans of a goal; `account`: it goes on.
    pub(crate) fn open(
        digest: &Sha256Digest,
        spec: Arc<DeployedGoalSpec>,
        account: Option<PermitAccount>,
        plans: &RunPlans,
        objects: Objects,
    ) -> Result<Self, DriverError> {
        let read = |part: &DeployedPart| plans.plan_of_part(digest, &spec, part).ok_or(DriverError::Plan);
        let look = read(&spec.deployment.look)?;
        let repair = spec.deployment.repair.as_ref().map(read).transpose()?;
        let account = account.unwrap_or_else(|| PermitAccount {
            uses: 0,
            withdrawn: None,
            tree: spec.tree,
            open: BTreeMap::new(),
        });
        Ok(Self {
            spec,
            look_plan: look,
            repair_plan: repair,
            objects,
            account,
            now: Moment::default(),
            error: None,
        })
    }

    /// Takes the reason why a run could not be stored.
    pub(crate) fn take_failure(&mut self) -> Result<(), ObjectError> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Returns the part of a run, and its plan.
    fn part(&self, part: ReconciliationPart) -> Option<(&DeployedPart, &Arc<Plan>)> {
        match part {
            ReconciliationPart::Look => Some((&self.spec.deployment.look, &self.look_plan)),
            _ => self.spec.deployment.repair.as_ref().zip(self.repair_plan.as_ref()),
        }
    }

    /// Verifies the approval for a run.
    fn authorize(
        &self,
        run: &ReconciliationRun,
        part: &DeployedPart,
        params: &JsonObject,
    ) -> Result<RunApproval, ApprovalRefusal> {
        // Checks go on, as they do where the approval was withdrawn.
        if let Some(at) = self.account.withdrawn.filter(|_| run.part != ReconciliationPart::Look) {
            return Err(ApprovalRefusal::Withdrawn(at));
        }
        let used = part.approval.used.saturating_add(self.account.uses);
        part.approval.authorize(run.part, &run.run, params, used, self.now)
    }

    /// Stores the inputs of a run.
    fn store(
        &self,
        run: &ReconciliationRun,
        part: &DeployedPart,
        plan: &Arc<Plan>,
        params: JsonObject,
        approved: RunApproval,
    ) -> Result<PermittedRun, ObjectError> {
        let DeployedGoalSpec {
            logic_version,
            deployment,
            state,
            state_folder,
            is_repository,
            approvers,
            queues,
            ..
        } = &*self.spec;
        let machine = Machine::new(Arc::clone(plan), run.run.clone(), params.clone());
        let spec = RunSpec {
            logic_version: *logic_version,
            path: deployment.path.clone(),
            sources: deployment.sources.clone(),
            params,
            opening: machine.opening(self.now, Some(Box::new(approved.clone()))),
            approved: Some(approved),
            config: part.config.clone(),
            retried: RetriedResults::default(),
            conversations: None,
            state: *state,
            state_folder: state_folder.clone(),
            is_repository: *is_repository,
            tree: self.account.tree,
            approvers: approvers.clone(),
            queues: queues.clone(),
        };
        let changes_files = run.part != ReconciliationPart::Look;
        Ok(PermittedRun { spec: self.objects.put_json_now(&spec)?, changes_files })
    }

    /// Returns the reason of a refusal, with its remedy.
    fn refusal(&self, refusal: &ApprovalRefusal) -> String {
        let (path, goal) = (&self.spec.deployment.path, &self.spec.deployment.goal.id);
        format!("{refusal}; approve it again: wf approve {path}, then wf goal deploy {goal}")
    }
}

impl RunPermits for GoalPermits {
    fn permit(&mut self, run: &ReconciliationRun) -> Result<(), String> {
        let goal = &self.spec.deployment.goal;
        let (part, plan) = self.part(run.part).ok_or_else(|| {
            format!("its repair was not deployed; deploy it again: wf goal deploy {}", goal.id)
        })?;
        let params = reconciliation_params(plan, goal, Some(run.slot), &run.checks);
        let params = params.map_err(|error| error.message)?;
        let approved = self.authorize(run, part, &params).map_err(|refusal| self.refusal(&refusal))?;
        match self.store(run, part, plan, params, approved) {
            Ok(permitted) => {
                self.account.uses += u32::from(run.part != ReconciliationPart::Look);
                self.account.open.insert(run.run.clone(), permitted);
                Ok(())
            }
            Err(error) => {
                let reason = error.to_string();
                self.error.get_or_insert(error);
                Err(reason)
            }
        }
    }
}
