use std::ffi::OsStr;
use std::path::PathBuf;

use super::collect::Collected;
use super::load::{checked, system_gates};
use super::{Exit, Failure, Ui, Workspace};
use crate::diag::{Severity, nearest};
use crate::name::PlanId;
use crate::spec::{self, Disk, Loaded};

/// The folders of a workspace in which plans and goals are looked for, besides its root.
const FOLDERS: [&str; 2] = ["workflows", "goals"];

/// A plan, a dag or a goal of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its path, relative to the workspace.
    pub path: String,
    /// What its file says it is.
    pub kind: &'static str,
    /// Its id, as far as it can be read.
    pub id: Option<String>,
    /// A line for people.
    pub title: Option<String>,
    /// How many mistakes it has.
    pub mistakes: usize,
}

/// All plans and goals of a workspace, by path.
pub fn all(workspace: &Workspace) -> Vec<Listed> {
    let files = Disk::new(&workspace.root);
    let gates = system_gates(&files);
    let listed = paths(workspace).into_iter().filter_map(|path| {
        let loaded = checked(&files, &path, &gates);
        let errors = loaded.diagnostics.iter();
        let errors = errors.filter(|(_, wrong)| wrong.severity() == Severity::Error);
        let mistakes = errors.count();
        let (id, title) = named_so(&loaded);
        Some(Listed {
            kind: kind(&loaded)?,
            id,
            title,
            path,
            mistakes,
        })
    });
    listed.collect()
}

/// The file of the plan with an id; `None` if this is no id, or no plan has it. What several
/// plans are called, none is.
pub fn by_id(ui: &Ui, name: &OsStr) -> Result<Option<PathBuf>, Failure> {
    let Some(id) = name.to_str().and_then(|name| PlanId::parse(name).ok()) else {
        return Ok(None);
    };
    let workspace = ui.workspace();
    let files = Disk::new(&workspace.root);
    let mut found = paths(&workspace);
    found.retain(|path| {
        let loaded = spec::load(&files, path);
        kind(&loaded).is_some() && named_so(&loaded).0.as_deref() == Some(id.as_str())
    });
    match found.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(workspace.root.join(only))),
        several => {
            let message = format!("several files have the id `{id}`: {}", several.join(", "));
            Err(Failure::new(Exit::Usage, message).hint("name the file, or change one of the ids"))
        }
    }
}

/// Says that there is no such plan, and what may be meant.
pub fn unknown(ui: &Ui, name: &str) -> Failure {
    let failure = Failure::new(Exit::Usage, format!("there is no file {name}"));
    if PlanId::parse(name).is_err() {
        return failure.hint("`wf list` lists plans; `wf init` makes a first one");
    }
    let all = all(&ui.workspace());
    let ids = all.iter().filter_map(|one| one.id.as_deref());
    let failure = Failure::new(
        Exit::Usage,
        format!("there is no file {name}, and no plan with this id"),
    );
    match nearest(name, ids) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None if all.is_empty() => failure.hint("`wf init` makes a first plan"),
        None => failure.hint("`wf list` lists plans and their ids"),
    }
}

/// The paths of what may be a plan or a goal.
fn paths(workspace: &Workspace) -> Vec<String> {
    let mut found = Collected::default();
    for folder in FOLDERS {
        found.folder(&workspace.root.join(folder));
    }
    found.top(&workspace.root);
    let mut paths: Vec<String> = found
        .plans
        .iter()
        .map(|path| workspace.name(path))
        .collect();
    paths.sort();
    paths
}

/// What a file is, if it is a plan or a goal, or says so.
fn kind(loaded: &Loaded) -> Option<&'static str> {
    let text = loaded.sources.first()?.text();
    let says = |kind: &str| {
        let mut lines = text
            .lines()
            .skip(1)
            .take_while(|line| line.trim_end() != "---");
        lines.any(|line| {
            let value = line.strip_prefix("kind:").map(str::trim);
            value.is_some_and(|value| value.trim_matches(['"', '\'']) == kind)
        })
    };
    if loaded.goal().is_some() || says("goal") {
        return Some("goal");
    }
    if says("dag") {
        return Some("dag");
    }
    (loaded.root().is_some() || says("plan")).then_some("plan")
}

/// The id and the title that a file gives itself.
fn named_so(loaded: &Loaded) -> (Option<String>, Option<String>) {
    if let Some(goal) = loaded.goal() {
        let id = goal.id.as_ref().map(|id| id.value.to_string());
        return (id, goal.title.clone());
    }
    let Some(plan) = loaded.root() else {
        return (None, None);
    };
    let id = plan.id.as_ref().map(|id| id.value.to_string());
    (id, plan.title.clone())
}
