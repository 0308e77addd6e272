use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::approve::waits_at;
use crate::cli::collect::Collected;
use crate::cli::load::Ready;
use crate::cli::{Exit, Failure, Revision, Ui, Workspace, load, normal, relative};
use crate::diag::nearest;
use crate::goal::Part;
use crate::model::Goal;
use crate::name::PlanId;
use crate::report::plural;
use crate::spec::{Disk, Files};

/// The folders of a workspace in which goals are looked for.
pub const FOLDERS: [&str; 2] = ["goals", "workflows"];

/// Where goals are read from.
#[derive(Debug)]
pub enum Where {
    /// The files as they lie there.
    Disk,
    /// The files as they were committed.
    Commit(Revision),
}

impl Where {
    /// The files.
    pub fn files(&self, workspace: &Workspace) -> Box<dyn Files + '_> {
        match self {
            Self::Disk => Box::new(Disk::new(&workspace.root)),
            Self::Commit(revision) => Box::new(Borrowed(revision)),
        }
    }
}

/// A file that is a goal, or wants to be one.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its path, relative to the workspace.
    pub path: String,
    /// The id that it says it has, also if it is broken.
    pub id: Option<String>,
    /// The goal; or why there is none, in a few words.
    pub goal: Result<Arc<Goal>, String>,
    /// That it waits for somebody to accept it, where that was asked.
    pub waits: Option<String>,
}

/// All goals of a workspace, by path. Of several with the same id only the first is one.
pub fn all(place: &Where, workspace: &Workspace) -> Vec<Found> {
    let files = place.files(workspace);
    let mut found: Vec<Found> = Vec::new();
    for path in paths(place, workspace) {
        let Some((id, goal)) = load::quiet_goal(&*files, &path) else {
            continue;
        };
        let goal = match goal {
            Ok(goal) => match same_id(&found, &goal.id) {
                None => Ok(goal),
                Some(other) => Err(format!("its id `{}` is that of {other}", goal.id)),
            },
            Err(count) => Err(format!("{}: wf check {path}", plural(count, "mistake"))),
        };
        found.push(Found {
            path,
            id,
            goal,
            waits: None,
        });
    }
    found
}

/// All goals as they lie there, with what those wait for that nobody accepted.
pub fn all_with_waits(ui: &Ui, workspace: &Workspace) -> Vec<Found> {
    let mut found = all(&Where::Disk, workspace);
    for one in found.iter_mut().filter(|one| one.goal.is_ok()) {
        // Whoever runs it says what keeps it from being read.
        one.waits = waits_at(ui, workspace, &one.path).ok().flatten();
    }
    found
}

fn same_id<'a>(found: &'a [Found], id: &PlanId) -> Option<&'a str> {
    let same = |one: &&Found| matches!(&one.goal, Ok(goal) if goal.id == *id);
    found.iter().find(same).map(|one| one.path.as_str())
}

fn paths(place: &Where, workspace: &Workspace) -> Vec<String> {
    let mut paths = match place {
        Where::Commit(revision) => revision.specs(&FOLDERS),
        Where::Disk => {
            let mut found = Collected::default();
            for folder in FOLDERS {
                found.folder(&workspace.root.join(folder));
            }
            let name = |path: &PathBuf| workspace.name(path);
            found.plans.iter().map(name).collect()
        }
    };
    paths.sort();
    paths
}

/// The path of the goal that a person names, by its file or its id.
pub fn named(ui: &Ui, workspace: &Workspace, place: &Where, name: &str) -> Result<String, Failure> {
    let path = normal(&ui.env.cwd().join(name));
    if path.is_file() || Path::new(name).extension().is_some_and(|end| end == "md") {
        return Ok(workspace.name(&path));
    }
    let all = all(place, workspace);
    // Of a broken one, whoever loads it says what is wrong; one that works comes first.
    let of = |found: &&Found| found.id.as_deref() == Some(name);
    let works = |found: &&Found| found.goal.is_ok() && of(found);
    if let Some(found) = all.iter().find(works).or_else(|| all.iter().find(of)) {
        return Ok(found.path.clone());
    }
    // Who names the file without its folder and its ending means its goal.
    let stem = |found: &&Found| {
        Path::new(&found.path)
            .file_stem()
            .is_some_and(|stem| stem == name)
    };
    let meant = all.iter().find(stem).and_then(|found| found.id.as_deref());
    let ids = all.iter().filter_map(|found| found.id.as_deref());
    let failure = Failure::new(Exit::Usage, format!("there is no goal `{name}`"));
    if let Some(near) = meant.or_else(|| nearest(name, ids)) {
        return Err(failure.hint(format!("did you mean `{near}`?")));
    }
    let root = relative(&workspace.root, ui.env.cwd());
    Err(failure.hint(format!(
        "goals are looked for in {root}/goals and {root}/workflows; `wf goal list` lists them"
    )))
}

/// The goal that a person names, as it lies there, and a look at it.
pub fn by_name(ui: &Ui, name: &str) -> Result<(Ready, Arc<Goal>), Failure> {
    let workspace = ui.workspace();
    let path = named(ui, &workspace, &Where::Disk, name)?;
    let files = Where::Disk.files(&workspace);
    load::goal(ui, &*files, (workspace.clone(), &path), Part::Look)
}

/// A revision that somebody else keeps.
struct Borrowed<'a>(&'a Revision);

impl Files for Borrowed<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, crate::spec::Unreadable> {
        self.0.read(path)
    }

    fn leads_out(&self, path: &str) -> bool {
        self.0.leads_out(path)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        self.0.names(folder)
    }
}
