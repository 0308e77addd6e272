//! The worktrees of agents, and the merges of what they did: the machine chooses the next.

use std::{path::PathBuf, sync::Arc};

use wf_core::machine::{
    Attempt, AttemptEnd, InputKind, MergeEnd, MergeOutcome, MergePreparation, MergeStart,
};
use wf_exec::{
    WorkError,
    worktree::{AttemptWorktree, ComputedMerge, WorktreeGit},
};
use wf_model::{AgentWorkspace, Step, StepWork};

use super::view::excluded_folders;
use crate::{
    run::{AttemptTask, RunContext, attempt_task::step_of},
    session::UnitResult,
};

/// The folder of the worktrees in that of a run.
const FOLDER: &str = "worktrees";

/// The repository of their versions, in that of a run. It stays.
pub(crate) const REPOSITORY: &str = "worktrees.git";

/// The most that approvers are shown of the changes, in bytes.
const MAX_SHOWN_DIFF: usize = 16 << 10;

/// Returns the worktree of an attempt, if it works in one.
pub(crate) fn worktree_of(run: &RunContext, attempt: &Attempt) -> Option<AttemptWorktree> {
    let is_in_one = attempt.attempt > 0 && works_in_worktree(&step_of(run, &attempt.task_id));
    is_in_one.then(|| attempt_worktree(run, attempt))
}

pub(crate) fn attempt_worktree(run: &RunContext, attempt: &Attempt) -> AttemptWorktree {
    let Attempt { task_id, attempt } = attempt;
    let (step, item) = (&task_id.step, task_id.item.map(|item| format!("{item}")));
    let parts = [Some(step.to_string()), item, Some(attempt.to_string())];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    AttemptWorktree {
        home: run.dir.join(FOLDER),
        name: parts.join("."),
        reference: format!("refs/wf/{}", parts.join("/")),
    }
}

/// Returns the folder with the files of an attempt.
pub(super) fn folder_of(run: &RunContext, attempt: &Attempt) -> PathBuf {
    let worktree = worktree_of(run, attempt);
    worktree.map_or_else(|| run.session.root.clone(), |worktree| worktree.folder())
}

pub(crate) async fn open_git(run: &RunContext) -> Result<WorktreeGit, WorkError> {
    let session = &run.session;
    session.make_repository().await?;
    let (folder, apart) = (run.dir.join(REPOSITORY), excluded_folders(session));
    let (executor, shown) = (session.executor.clone(), session.shown_path(&folder));
    WorktreeGit::open(executor, &session.root, &session.host, &folder, &apart, shown).await
}

pub(crate) async fn begin_worktree(run: &RunContext, attempt: &Attempt) -> Result<(), WorkError> {
    let Some(worktree) = worktree_of(run, attempt) else {
        return Ok(());
    };
    let before = attempt.attempt.checked_sub(1).filter(|before| *before > 0);
    let before = before.map(|before| attempt_worktree(run, &Attempt { attempt: before, ..attempt.clone() }));
    let _alone = run.merging.lock().await;
    worktree.begin(&open_git(run).await?, before.as_ref()).await
}

fn works_in_worktree(step: &Step) -> bool {
    matches!(&step.work, StepWork::Agent(work) if work.workspace == AgentWorkspace::Worktree)
}

/// Keeps what an agent left in its worktree, however it ended.
pub(crate) async fn end_worktree(task: &AttemptTask, end: &mut AttemptEnd) {
    let worktree = worktree_of(&task.run, &task.attempt).filter(|worktree| worktree.folder().exists());
    let Some(worktree) = worktree else {
        return;
    };
    let result = match open_git(&task.run).await {
        // What it left stays to be looked at, also if it cannot be merged.
        Ok(git) => match worktree.save(&git).await {
            Ok(()) => worktree.ensure_kept(&git).await,
            unable => unable,
        },
        Err(unable) => Err(unable),
    };
    if let Err(unable) = result
        && end.exit.is_success()
    {
        end.exit = unable.into();
    }
}

/// Computes the merge of an attempt's changes.
pub(crate) async fn prepare(run: Arc<RunContext>, attempt: Attempt) -> UnitResult {
    let worktree = attempt_worktree(&run, &attempt);
    let alone = run.merging.lock().await;
    let found_merge = find_merge(&run, &worktree).await;
    drop(alone);
    run.session.executor.ensure_supervised()?;
    // All that it held is in its result.
    worktree.remove();
    let merge = found_merge.unwrap_or_else(|unable| MergePreparation::Failed { reason: unable.reason });
    Ok(Some(InputKind::MergePrepared { attempt, merge }))
}

async fn find_merge(run: &RunContext, worktree: &AttemptWorktree) -> Result<MergePreparation, WorkError> {
    let git = open_git(run).await?;
    Ok(match git.prepare(worktree).await? {
        ComputedMerge::Unchanged => MergePreparation::Unchanged,
        ComputedMerge::Changed { plan, conflicts } if conflicts.is_empty() => {
            let diff = git.diff(&plan.base, &plan.result).await?;
            let diff = run.mask().await.text(&diff).into_owned();
            MergePreparation::Clean { plan: Box::new(plan), diff: cut(diff) }
        }
        ComputedMerge::Changed { plan, conflicts } => {
            MergePreparation::Conflict { plan: Box::new(plan), files: conflicts }
        }
    })
}

fn cut(mut diff: String) -> String {
    if diff.len() > MAX_SHOWN_DIFF {
        diff.truncate(diff.floor_char_boundary(MAX_SHOWN_DIFF));
        diff.push_str("\n… (cut)\n");
    }
    diff
}

/// Writes the files of a merge.
pub(crate) async fn merge(run: Arc<RunContext>, start: MergeStart) -> UnitResult {
    let MergeStart { attempt, plan } = start;
    let alone = run.merging.lock().await;
    let outcome = match open_git(&run).await {
        Ok(git) => git.apply(&plan).await,
        Err(unable) => Err(unable),
    };
    drop(alone);
    run.session.executor.ensure_supervised()?;
    let outcome = outcome.unwrap_or_else(|unable| MergeOutcome::Failed { reason: unable.reason });
    Ok(Some(InputKind::Merged(MergeEnd { attempt, outcome })))
}

/// Removes the worktrees of an ended run.
pub(crate) fn discard(run: &RunContext) {
    drop(std::fs::remove_dir_all(run.dir.join(FOLDER)));
}
