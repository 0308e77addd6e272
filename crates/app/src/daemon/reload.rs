use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::broken::BrokenGoal;
use super::lines::prefix_with_goal;
use crate::daemon_io::health::GoalBlockage;
use crate::daemon_io::watch::FileWatcher;
use crate::goals::{FOLDERS, GoalFile, GoalSource, WAKE_FILE};
use crate::goals::{read_in_child, read_in_child_async};
use crate::{APPROVERS, CONFIG, Caller, CliExitCode, CommandError, GitRevision, Workspace};
use wf_base::name::PlanId;
use wf_base::time::Moment;
use wf_base::untrusted::{BAD, NAME, WARN, paint};
use wf_exec::HostEnv;
use wf_model::Goal;
use wf_store::GoalBlock;

/// The source of goals, and their current state.
pub struct LoadedGoals {
    workspace: Workspace,
    branch: Option<String>,
    source: GoalSource,
    /// The folder in which the repository keeps its branches.
    git: Option<PathBuf>,
    goal_files: Vec<GoalFile>,
    by_id: BTreeMap<PlanId, Arc<Goal>>,
    /// The time from which their files were read.
    read_at: Moment,
}

impl LoadedGoals {
    /// Reads the goals of a workspace: its files, or a branch of its repository.
    pub fn read(caller: &dyn Caller, branch: Option<String>) -> Result<Self, CommandError> {
        let workspace = caller.host().workspace();
        let place = goal_source(&workspace, branch.as_deref(), &caller.host().vars())?;
        let read_at = caller.host().now();
        let found = read_in_child(caller.host(), &place, &workspace)?;
        let git = match &place {
            GoalSource::Disk => None,
            GoalSource::Commit(revision) => Some(revision.git_dir().to_path_buf()),
        };
        let by_id = goals_by_id(&found);
        let goals = Self { workspace, branch, source: place, git, by_id, goal_files: found, read_at };
        goals.report_changes(caller, &[]);
        Ok(goals)
    }

    /// Reads them again, and reports the differences. The old ones stay if they cannot be read.
    pub async fn reload(&mut self, caller: &dyn Caller) -> Result<(), CommandError> {
        let (workspace, branch) = (self.workspace.clone(), self.branch.clone());
        let vars = caller.host().vars();
        let place = move || goal_source(&workspace, branch.as_deref(), &vars);
        let place = tokio::task::spawn_blocking(place).await;
        let place = place.map_err(|lost| CommandError::new(CliExitCode::Bug, lost.to_string()))??;
        if let (GoalSource::Commit(new), GoalSource::Commit(old)) = (&place, &self.source)
            && new.commit() == old.commit()
        {
            return Ok(());
        }
        let read_at = caller.host().now();
        let found = read_in_child_async(caller.host(), &place, &self.workspace).await?;
        self.read_at = read_at;
        self.by_id = goals_by_id(&found);
        let before = std::mem::replace(&mut self.goal_files, found);
        self.source = place;
        self.report_changes(caller, &before);
        Ok(())
    }

    pub fn goals(&self) -> &BTreeMap<PlanId, Arc<Goal>> {
        &self.by_id
    }

    /// Returns the block of a goal: as its files were read, and by the ledger of refused reconciliations since then.
    pub fn blockage(&self, goal: &PlanId, refused: Option<GoalBlock>) -> Option<GoalBlockage> {
        let is_meant = |found: &&GoalFile| found.id.as_deref() == Some(goal.as_str()) && found.goal.is_ok();
        let found = self.goal_files.iter().find(is_meant);
        let since = refused.as_ref().map(|refused| refused.since);
        let awaited =
            found.and_then(|found| Some(format!("{} {}", found.path, found.awaited_acceptance.as_ref()?)));
        let refused = refused.filter(|refused| refused.at >= self.read_at).map(|refused| refused.reason);
        awaited.or(refused).map(|reason| GoalBlockage { since, reason })
    }

    /// Returns the goals whose files cannot be read.
    pub fn broken(&self) -> impl Iterator<Item = BrokenGoal> {
        self.goal_files.iter().filter_map(|found| {
            let reason = found.goal.as_ref().err()?;
            let id = PlanId::parse(found.id.as_deref()?).ok().filter(|id| !self.by_id.contains_key(id))?;
            Some(BrokenGoal { id, path: found.path.clone(), reason: reason.clone() })
        })
    }

    /// Returns the errors in files, by the id of the goal; by the path where that is unknown, or the id of another file.
    pub fn errors(&self) -> BTreeMap<String, String> {
        let broken = self.goal_files.iter().filter_map(|found| {
            let reason = format!("{}: {}", found.path, found.goal.as_ref().err()?);
            let is_free = |id: &&String| self.by_id.keys().all(|known| known.as_str() != id.as_str());
            let id = found.id.as_ref().filter(is_free).unwrap_or(&found.path);
            Some((id.clone(), reason))
        });
        broken.collect()
    }

    pub fn commit(&self) -> Option<&str> {
        match &self.source {
            GoalSource::Disk => None,
            GoalSource::Commit(revision) => Some(revision.commit()),
        }
    }

    /// Watches all files that may change them, and the file that wakes a daemon up.
    pub fn watch(&self) -> std::io::Result<FileWatcher> {
        let root = &self.workspace.root;
        let mut files = vec![self.workspace.state.join(WAKE_FILE)];
        if let (Some(branch), Some(git)) = (&self.branch, &self.git) {
            files.push(git.join("refs/heads").join(branch));
            files.push(git.join("packed-refs"));
            return FileWatcher::new(&[], &files);
        }
        files.extend([root.join(CONFIG), root.join(APPROVERS)]);
        let mut folders: Vec<PathBuf> = FOLDERS.map(|folder| root.join(folder)).to_vec();
        folders.push(root.join(wf_lang::GATES));
        FileWatcher::new(&folders, &files)
    }

    fn report_changes(&self, caller: &dyn Caller, before: &[GoalFile]) {
        let said = |found: &GoalFile| match &found.goal {
            Ok(goal) => format!("{} {:?} {goal:?}", found.path, found.awaited_acceptance),
            Err(reason) => format!("{} {reason}", found.path),
        };
        let known: Vec<String> = before.iter().map(said).collect();
        for found in self.goal_files.iter().filter(|found| !known.contains(&said(found))) {
            match &found.goal {
                Ok(goal) => {
                    let name = paint(NAME, goal.id.as_str());
                    caller.info_line(&format!("goal {name} · {}", found.path));
                    if let Some(waits) = &found.awaited_acceptance {
                        caller.message_line(&prefix_with_goal(goal.id.as_str(), &paint(WARN, waits)));
                    }
                }
                Err(reason) => {
                    let broken = paint(BAD, "broken:");
                    let line = format!("{broken} {} is skipped: {reason}", found.path);
                    caller.message_line(
                        &found.id.as_ref().map_or(line.clone(), |id| prefix_with_goal(id, &line)),
                    );
                }
            }
        }
        for gone in before {
            if self.goal_files.iter().all(|found| found.path != gone.path) {
                let line = format!("{} was removed", gone.path);
                caller.info_line(&gone.id.as_ref().map_or(line.clone(), |id| prefix_with_goal(id, &line)));
            }
        }
    }
}

fn goals_by_id(found: &[GoalFile]) -> BTreeMap<PlanId, Arc<Goal>> {
    let goals = found.iter().filter_map(|found| found.goal.as_ref().ok());
    goals.map(|goal| (goal.id.clone(), Arc::clone(goal))).collect()
}

fn goal_source(
    workspace: &Workspace,
    branch: Option<&str>,
    host: &HostEnv,
) -> Result<GoalSource, CommandError> {
    Ok(match branch {
        None => GoalSource::Disk,
        Some(branch) => {
            let name = format!("refs/heads/{branch}");
            GoalSource::Commit(GitRevision::of(workspace, &name, host)?.into())
        }
    })
}
