use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::goals::{FOLDERS, Found, POKE, Where, apart, apart_aside};
use crate::cli::workspace::{APPROVERS, CONFIG};
use crate::cli::{Exit, Failure, Revision, Ui, Workspace};
use crate::model::Goal;
use crate::name::PlanId;
use crate::report::{BAD, NAME, WARN, paint};
use crate::service::watch::Watch;

/// Where goals come from, and what they are now.
pub struct Goals {
    workspace: Workspace,
    branch: Option<String>,
    place: Where,
    /// Where the repository of the branch keeps its branches.
    git: Option<PathBuf>,
    found: Vec<Found>,
    by_id: BTreeMap<PlanId, Arc<Goal>>,
}

impl Goals {
    /// Reads the goals of a workspace: its files, or a branch of its repository.
    pub fn read(ui: &Ui, branch: Option<String>) -> Result<Self, Failure> {
        let workspace = ui.workspace();
        let place = place(&workspace, branch.as_deref())?;
        let found = apart(ui, &place, &workspace);
        let git = match &place {
            Where::Disk => None,
            Where::Commit(revision) => Some(revision.git_dir()),
        };
        let goals = Self {
            workspace,
            branch,
            place,
            git,
            by_id: by_id(&found),
            found,
        };
        goals.told(ui, &[]);
        Ok(goals)
    }

    /// Reads them again, and says what is different. What was there stays if they cannot be read.
    pub async fn again(&mut self, ui: &Ui) -> Result<(), Failure> {
        let (workspace, branch) = (self.workspace.clone(), self.branch.clone());
        let place = move || place(&workspace, branch.as_deref());
        let place = tokio::task::spawn_blocking(place).await;
        let place = place.map_err(|lost| Failure::new(Exit::Bug, lost.to_string()))??;
        if let (Where::Commit(new), Where::Commit(old)) = (&place, &self.place)
            && new.commit() == old.commit()
        {
            return Ok(());
        }
        let found = apart_aside(ui, &place, &self.workspace).await;
        self.by_id = by_id(&found);
        let before = std::mem::replace(&mut self.found, found);
        self.place = place;
        self.told(ui, &before);
        Ok(())
    }

    /// The goals that there are.
    pub fn goals(&self) -> &BTreeMap<PlanId, Arc<Goal>> {
        &self.by_id
    }

    /// What is wrong with files, if anything is.
    pub fn broken(&self) -> Option<String> {
        let mut broken = self.found.iter().filter_map(|found| {
            let why = found.goal.as_ref().err()?;
            Some(format!("{}: {why}", found.path))
        });
        broken.next()
    }

    /// The commit that they are read from, if they are.
    pub fn commit(&self) -> Option<&str> {
        match &self.place {
            Where::Disk => None,
            Where::Commit(revision) => Some(revision.commit()),
        }
    }

    /// Watches all that may make them different, and what wakes a daemon up.
    pub fn watch(&self) -> std::io::Result<Watch> {
        let root = &self.workspace.root;
        let mut files = vec![self.workspace.state.join(POKE)];
        if let (Some(branch), Some(git)) = (&self.branch, &self.git) {
            files.push(git.join("refs/heads").join(branch));
            files.push(git.join("packed-refs"));
            return Watch::new(&[], &files);
        }
        files.extend([root.join(CONFIG), root.join(APPROVERS)]);
        let mut folders: Vec<PathBuf> = FOLDERS.map(|folder| root.join(folder)).to_vec();
        folders.push(root.join(crate::spec::GATES));
        Watch::new(&folders, &files)
    }

    fn told(&self, ui: &Ui, before: &[Found]) {
        let said = |found: &Found| match &found.goal {
            Ok(goal) => format!("{} {:?} {goal:?}", found.path, found.waits),
            Err(why) => format!("{} {why}", found.path),
        };
        let known: Vec<String> = before.iter().map(said).collect();
        for found in self
            .found
            .iter()
            .filter(|found| !known.contains(&said(found)))
        {
            match &found.goal {
                Ok(goal) => {
                    let name = paint(NAME, goal.id.as_str());
                    ui.note_line(&format!("goal {name} · {}", found.path));
                    if let Some(waits) = &found.waits {
                        ui.say_line(&format!("{} {waits}", paint(WARN, goal.id.as_str())));
                    }
                }
                Err(why) => {
                    let broken = paint(BAD, "broken:");
                    ui.say_line(&format!("{broken} {} is not looked at: {why}", found.path));
                }
            }
        }
        for gone in before {
            if self.found.iter().all(|found| found.path != gone.path) {
                ui.note_line(&format!("{} is gone", gone.path));
            }
        }
    }
}

fn by_id(found: &[Found]) -> BTreeMap<PlanId, Arc<Goal>> {
    let goals = found.iter().filter_map(|found| found.goal.as_ref().ok());
    goals
        .map(|goal| (goal.id.clone(), Arc::clone(goal)))
        .collect()
}

fn place(workspace: &Workspace, branch: Option<&str>) -> Result<Where, Failure> {
    Ok(match branch {
        None => Where::Disk,
        Some(branch) => {
            let name = format!("refs/heads/{branch}");
            Where::Commit(Revision::of(workspace, &name)?)
        }
    })
}
