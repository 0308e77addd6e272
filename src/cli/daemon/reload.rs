use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::goals::{FOLDERS, Found, POKE, Where, apart};
use crate::cli::workspace::{APPROVERS, CONFIG};
use crate::cli::{Failure, Revision, Ui, Workspace};
use crate::model::Goal;
use crate::report::{BAD, NAME, paint};
use crate::service::watch::Watch;

/// Where goals come from, and what they are now.
pub struct Goals {
    workspace: Workspace,
    branch: Option<String>,
    place: Where,
    found: Vec<Found>,
}

impl Goals {
    /// Reads the goals of a workspace: its files, or a branch of its repository.
    pub fn read(ui: &Ui, branch: Option<String>) -> Result<Self, Failure> {
        let workspace = ui.workspace();
        let place = place(&workspace, branch.as_deref())?;
        let found = apart(ui, &place, &workspace);
        let goals = Self {
            workspace,
            branch,
            place,
            found,
        };
        goals.told(ui, &[]);
        Ok(goals)
    }

    /// Reads them again, and says what is different. What was there stays if they cannot be read.
    pub fn again(&mut self, ui: &Ui) -> Result<(), Failure> {
        let place = place(&self.workspace, self.branch.as_deref())?;
        if let (Where::Commit(new), Where::Commit(old)) = (&place, &self.place)
            && new.commit() == old.commit()
        {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.found, apart(ui, &place, &self.workspace));
        self.place = place;
        self.told(ui, &before);
        Ok(())
    }

    /// The goals that there are.
    pub fn goals(&self) -> Vec<Arc<Goal>> {
        let goals = self
            .found
            .iter()
            .filter_map(|found| found.goal.as_ref().ok());
        goals.cloned().collect()
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
        if let (Some(branch), Where::Commit(revision)) = (&self.branch, &self.place) {
            let git = revision.git_dir();
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
            Ok(goal) => format!("{} {goal:?}", found.path),
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
                    ui.note(&format!("goal {name} · {}\n", found.path));
                }
                Err(why) => {
                    let broken = paint(BAD, "broken:");
                    ui.say(&format!(
                        "{broken} {} is not looked at: {why}\n",
                        found.path
                    ));
                }
            }
        }
        for gone in before {
            if self.found.iter().all(|found| found.path != gone.path) {
                ui.note(&format!("{} is gone\n", gone.path));
            }
        }
    }
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
