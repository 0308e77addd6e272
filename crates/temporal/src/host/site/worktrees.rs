//! The worktrees of agents: their versions travel with the reports of their work, to any host and to the workspace.

use std::sync::Arc;

use wf_base::name::RunId;
use wf_core::machine::{Attempt, Effect};
use wf_exec::{WorkError, view::family};
use wf_model::{AgentWorkspace, Plan, StepWork};

use super::{RunSite, WorkerError};
use crate::{
    files::{objects::Objects, tree::place_inside},
    host::{run_folder::write_files, versions::CarriedFile},
    messages::order::WorkOrder,
    run::log::log_since,
};

/// True if a plan, or one it uses, has agents in worktrees.
pub(super) fn has_worktrees(plan: &Arc<Plan>) -> bool {
    let works_in_one = |work: &StepWork| match work {
        StepWork::Agent(agent) => agent.workspace == AgentWorkspace::Worktree,
        _ => false,
    };
    let has_one = |plan: &Arc<Plan>| {
        plan.steps().iter().flat_map(wf_model::Step::ways).any(|way| works_in_one(&way.work))
    };
    family(plan).into_iter().any(has_one)
}

fn unable(error: WorkError) -> WorkerError {
    WorkerError::Run(error.reason)
}

impl RunSite {
    /// Gets the versions of an attempt in a worktree from the hosts where they were made, and makes the worktree anew where
    /// work needs its files. The calls of an agent find it where the agent was briefed.
    pub(super) async fn restore_worktree(
        &self,
        order: &WorkOrder,
        effect: &Effect,
        objects: &Objects,
    ) -> Result<(), WorkerError> {
        let needs_files = match effect {
            Effect::Check { .. } | Effect::Guide { .. } => true,
            Effect::Gate(question) => !question.is_of_agent(),
            Effect::Start { .. } | Effect::Watch { .. } | Effect::PrepareMerge { .. } | Effect::Merge(_) => {
                false
            }
            _ => return Ok(()),
        };
        let Some(attempt) = effect.attempt() else { return Ok(()) };
        let family = self.family.lock().await;
        let replica = family.replica(&order.run)?;
        if !replica.works_in_worktree(&attempt) {
            return Ok(());
        }
        let (own, restore) = (replica.worktree_references(&attempt), replica.restore_worktree(&attempt));
        drop(family);
        let runs = self.session.store.folder().runs();
        let mut files = log_since(objects, order.log, 0).await?.files;
        files.retain(|file| {
            // What other tasks have here may be newer than what is known of them elsewhere.
            let is_needed = file.path.starts_with(&own)
                || place_inside(&runs, &file.path).is_ok_and(|place| !place.exists());
            CarriedFile::from_path(&file.path).is_version_of(&order.run) && is_needed
        });
        let is_known = files.iter().any(|file| file.path.starts_with(&own));
        write_files(&runs, &files, objects).await?;
        if needs_files && is_known { restore.await.map_err(unable) } else { Ok(()) }
    }

    /// Keeps what an agent in a worktree has done so far.
    pub(super) async fn save_worktree(&self, run: &RunId, attempt: &Attempt) -> Result<(), WorkerError> {
        let save = self.family.lock().await.replica(run)?.save_worktree(attempt);
        save.await.map_err(unable)
    }

    /// Returns the work of packing the versions of a run, if an attempt has some.
    pub(super) async fn worktree_packer(
        &self,
        run: &RunId,
        attempt: &Attempt,
    ) -> Result<Option<impl Future<Output = Result<(), WorkerError>> + use<>>, WorkerError> {
        let family = self.family.lock().await;
        let replica = family.replica(run)?;
        let pack = replica.works_in_worktree(attempt).then(|| replica.pack_worktrees());
        Ok(pack.map(|pack| Box::pin(async move { pack.await.map_err(unable) })))
    }
}
