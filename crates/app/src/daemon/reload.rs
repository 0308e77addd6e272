use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use super::{broken::BrokenGoal, lines::prefix_with_goal};
use crate::{
    APPROVERS, CONFIG, Caller, CliExitCode, CommandError, GitRevision, Workspace,
    daemon_io::{health::GoalBlockage, watch::FileWatcher},
    goals::{FOLDERS, GoalFile, GoalSource, WAKE_FILE, read_in_child, read_in_child_async},
};
use wf_base::{
    name::PlanId,
    time::Moment,
    untrusted::{BAD, NAME, WARN, paint},
};
use wf_exec::HostEnv;
use wf_model::Goal;
use wf_store::GoalBlock;

/// The source of goals, and their current state.
pub struct LoadedGoals {
    workspace: Workspace,
    branch: Option<String>,
    source: GoalSource,
    /// The folder of the repository's branches.
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
        let files = read_in_child(caller.host(), &place, &workspace)?;
        let git = match &place {
            GoalSource::Disk => None,
            GoalSource::Commit(revision) => Some(revision.git_dir().to_path_buf()),
        };
        let by_id = goals_by_id(&files);
        let goals = Self { workspace, branch, source: place, git, by_id, goal_files: files, read_at };
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
        let files = read_in_child_async(caller.host(), &place, &self.workspace).await?;
        self.read_at = read_at;
        self.by_id = goals_by_id(&files);
        let before = std::mem::replace(&mut self.goal_files, files);
        self.source = place;
        self.report_changes(caller, &before);
        Ok(())
    }

    pub fn goals(&self) -> &BTreeMap<PlanId, Arc<Goal>> {
        &self.by_id
    }

    /// Returns the block of a goal: as its files were read, and by the ledger of refused reconciliations since then.
    pub fn blockage(&self, goal: &PlanId, block: Option<GoalBlock>) -> Option<GoalBlockage> {
        let is_meant = |file: &&GoalFile| file.id.as_deref() == Some(goal.as_str()) && file.goal.is_ok();
        let goal_file = self.goal_files.iter().find(is_meant);
        let since = block.as_ref().map(|refused| refused.since);
        let awaited =
            goal_file.and_then(|file| Some(format!("{} {}", file.path, file.awaited_acceptance.as_ref()?)));
        let refused = block.filter(|refused| refused.at >= self.read_at).map(|refused| refused.reason);
        awaited.or(refused).map(|reason| GoalBlockage { since, reason })
    }

    /// Returns the goals with unreadable files.
    pub fn broken(&self) -> impl Iterator<Item = BrokenGoal> {
        self.goal_files.iter().filter_map(|file| {
            let reason = file.goal.as_ref().err()?;
            let id = PlanId::parse(file.id.as_deref()?).ok().filter(|id| !self.by_id.contains_key(id))?;
            Some(BrokenGoal { id, path: file.path.clone(), reason: reason.to_string() })
        })
    }

    /// Returns the errors in files, by the id of the goal; by the path where that is unknown, or the id of another file.
    pub fn errors(&self) -> BTreeMap<String, String> {
        let broken = self.goal_files.iter().filter_map(|file| {
            let reason = format!("{}: {}", file.path, file.goal.as_ref().err()?);
            let is_free = |id: &&String| self.by_id.keys().all(|goal_id| goal_id.as_str() != id.as_str());
            let id = file.id.as_ref().filter(is_free).unwrap_or(&file.path);
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

    fn report_changes(&self, caller: &dyn Caller, old_files: &[GoalFile]) {
        let mistake_of = |file: &GoalFile| match &file.goal {
            Ok(goal) => format!("{} {:?} {goal:?}", file.path, file.awaited_acceptance),
            Err(reason) => format!("{} {reason}", file.path),
        };
        let old_mistakes: Vec<String> = old_files.iter().map(mistake_of).collect();
        for goal_file in self.goal_files.iter().filter(|file| !old_mistakes.contains(&mistake_of(file))) {
            match &goal_file.goal {
                Ok(goal) => {
                    let name = paint(NAME, goal.id.as_str());
                    caller.info_line(&format!("goal {name} · {}", goal_file.path));
                    if let Some(waits) = &goal_file.awaited_acceptance {
                        caller.message_line(&prefix_with_goal(goal.id.as_str(), &paint(WARN, waits)));
                    }
                }
                Err(reason) => {
                    let broken = paint(BAD, "broken:");
                    let line = format!("{broken} {} is skipped: {reason}", goal_file.path);
                    caller.message_line(
                        &goal_file.id.as_ref().map_or(line.clone(), |id| prefix_with_goal(id, &line)),
                    );
                }
            }
        }
        for goal_file in old_files {
            if self.goal_files.iter().all(|file| file.path != goal_file.path) {
                let line = format!("{} was removed", goal_file.path);
                caller
                    .info_line(&goal_file.id.as_ref().map_or(line.clone(), |id| prefix_with_goal(id, &line)));
            }
        }
    }
}

fn goals_by_id(files: &[GoalFile]) -> BTreeMap<PlanId, Arc<Goal>> {
    let goals = files.iter().filter_map(|file| file.goal.as_ref().ok());
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
