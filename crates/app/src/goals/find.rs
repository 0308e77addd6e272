use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{
    Caller, CliExitCode, CommandError, GitRevision, Host, Workspace,
    approve::awaited_acceptance_at,
    normalize_path, relative_path,
    specs::{
        collect::SpecFileSet,
        load::{self, LoadedPlan},
    },
};
use wf_base::{
    diag::nearest,
    name::PlanId,
    remedy::{Remedy, UserAction},
    units::plural,
};
use wf_core::goal::ReconciliationPart;
use wf_lang::{DiskFiles, SpecFileSource};
use wf_model::Goal;
use wf_store::StoreReader;

/// The folders of a workspace with goals.
pub const FOLDERS: [&str; 2] = ["goals", "workflows"];

/// The source of goals.
#[derive(Debug)]
pub enum GoalSource {
    /// The files on disk.
    Disk,
    /// The files of a commit.
    Commit(Box<GitRevision>),
}

impl GoalSource {
    pub fn files(&self, workspace: &Workspace) -> Box<dyn SpecFileSource + '_> {
        match self {
            Self::Disk => Box::new(DiskFiles::new(&workspace.root)),
            Self::Commit(revision) => Box::new(BorrowedRevision(revision)),
        }
    }
}

/// The file of a goal, or of an intended one.
#[derive(Clone, Debug)]
pub struct GoalFile {
    /// Its path, relative to the workspace.
    pub path: String,
    /// The id in the file, even if the file is broken.
    pub id: Option<String>,
    pub goal: Result<Arc<Goal>, GoalFileError>,
    /// The acceptance it waits for, where that was requested.
    pub awaited_acceptance: Option<String>,
}

/// The reason why a file has no goal, in a few words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum GoalFileError {
    /// It had one before.
    #[error("it cannot be read as a goal any more: wf check {0}")]
    Lost(String),
    #[error("its id `{id}` is already used by {by}")]
    Duplicate {
        id: PlanId,
        /// The other file.
        by: String,
    },
    /// It has errors.
    #[error("{}: wf check {path}", plural(*.count, "problem"))]
    Broken { count: usize, path: String },
}

/// All goals of a workspace, by path. Of several with the same id only the first is one. Fails if the files
/// of a commit cannot be listed.
pub fn list_goals(source: &GoalSource, workspace: &Workspace) -> Result<Vec<GoalFile>, CommandError> {
    let mut paths = match source {
        GoalSource::Disk => return Ok(list_goals_on_disk(workspace)),
        GoalSource::Commit(revision) => revision.specs(&FOLDERS)?,
    };
    paths.sort();
    Ok(read_goals(&*source.files(workspace), paths))
}

pub fn list_goals_on_disk(workspace: &Workspace) -> Vec<GoalFile> {
    let mut file_set = SpecFileSet::default();
    for folder in FOLDERS {
        file_set.add_folder(&workspace.root.join(folder));
    }
    let name = |path: &PathBuf| workspace.name(path);
    let mut paths: Vec<String> = file_set.plans.iter().map(name).collect();
    paths.sort();
    let files = GoalSource::Disk.files(workspace);
    let mut goal_files = read_goals(&*files, paths);
    for (path, id) in known_goals(workspace) {
        if let Some(same) = goal_files.iter_mut().find(|file| file.path == path) {
            same.id.get_or_insert(id.to_string());
        } else if workspace.root.join(&path).symlink_metadata().is_ok() && !load::is_spec(&*files, &path) {
            let goal = Err(GoalFileError::Lost(path.clone()));
            goal_files.push(GoalFile { path, id: Some(id.to_string()), goal, awaited_acceptance: None });
        }
    }
    goal_files.sort_by(|one, other| one.path.cmp(&other.path));
    goal_files
}

/// Returns the goals considered by a daemon before, by their paths of that time: such a file is missed if it cannot be
/// read as a goal any more. Without a state none is known.
fn known_goals(workspace: &Workspace) -> Vec<(String, PlanId)> {
    let reader = StoreReader::open(&workspace.state);
    let rows = reader.and_then(|reader| reader.goals().all()).unwrap_or_default();
    rows.into_iter().map(|row| (row.path, row.id)).collect()
}

/// Returns the path of a goal on disk; without one, those of all that are valid.
pub fn find_paths(
    host: &Host,
    workspace: &Workspace,
    goal: Option<&str>,
) -> Result<Vec<String>, CommandError> {
    if let Some(goal) = goal {
        return Ok(vec![find_path(host, workspace, &GoalSource::Disk, goal)?]);
    }
    let valid = list_goals_on_disk(workspace).into_iter().filter(|file| file.goal.is_ok());
    Ok(valid.map(|file| file.path).collect())
}

fn read_goals(files: &dyn SpecFileSource, paths: Vec<String>) -> Vec<GoalFile> {
    let mut goal_files: Vec<GoalFile> = Vec::new();
    for path in paths {
        let Some((id, goal)) = load::collect_goal(files, &path) else {
            continue;
        };
        let goal = match goal {
            Ok(goal) => match duplicate_id(&goal_files, &goal.id) {
                None => Ok(goal),
                Some(other) => Err(GoalFileError::Duplicate { id: goal.id.clone(), by: other.to_owned() }),
            },
            Err(count) => Err(GoalFileError::Broken { count, path: path.clone() }),
        };
        goal_files.push(GoalFile { path, id, goal, awaited_acceptance: None });
    }
    goal_files
}

/// All goals on disk, with the acceptance they wait for.
pub fn list_goals_with_acceptance(caller: &dyn Caller, workspace: &Workspace) -> Vec<GoalFile> {
    let mut files = list_goals_on_disk(workspace);
    for goal_file in files.iter_mut().filter(|file| file.goal.is_ok()) {
        // An error that keeps it from being read is reported when it is run.
        goal_file.awaited_acceptance =
            awaited_acceptance_at(caller, workspace, &goal_file.path).ok().flatten();
    }
    files
}

fn duplicate_id<'a>(files: &'a [GoalFile], id: &PlanId) -> Option<&'a str> {
    let same = |file: &&GoalFile| matches!(&file.goal, Ok(goal) if goal.id == *id);
    files.iter().find(same).map(|file| file.path.as_str())
}

/// The path of the goal the user names, by its file or its id.
pub fn find_path(
    host: &Host,
    workspace: &Workspace,
    source: &GoalSource,
    name: &str,
) -> Result<String, CommandError> {
    let path = normalize_path(&host.cwd().join(name));
    if path.is_file() || Path::new(name).extension().is_some_and(|end| end == "md") {
        return Ok(workspace.name(&path));
    }
    let files = list_goals(source, workspace)?;
    // The errors of a broken one are reported when it is loaded; a valid one takes precedence.
    let of = |candidate: &&GoalFile| candidate.id.as_deref() == Some(name);
    let works = |file: &&GoalFile| file.goal.is_ok() && of(file);
    if let Some(file) = files.iter().find(works).or_else(|| files.iter().find(of)) {
        return Ok(file.path.clone());
    }
    // A file name without its folder and extension names its goal.
    let stem =
        |goal_file: &&GoalFile| Path::new(&goal_file.path).file_stem().is_some_and(|stem| stem == name);
    let suggestion = files.iter().find(stem).and_then(|file| file.id.as_deref());
    let ids = files.iter().filter_map(|file| file.id.as_deref());
    let error = CommandError::new(CliExitCode::Usage, format!("unknown goal `{name}`"));
    if let Some(near) = suggestion.or_else(|| nearest(name, ids)) {
        return Err(error.hint(format!("did you mean `{near}`?")));
    }
    let root = relative_path(&workspace.root, host.cwd());
    let places = format!("goals are searched in {root}/goals and {root}/workflows; list them with `");
    Err(error.hint(Remedy::from(places).action(UserAction::ListGoals).text("`")))
}

/// The goal the user names, as it is on disk, and the plan of its check run.
pub fn load_by_name(caller: &dyn Caller, name: &str) -> Result<(LoadedPlan, Arc<Goal>), CommandError> {
    let workspace = caller.host().workspace();
    let path = find_path(caller.host(), &workspace, &GoalSource::Disk, name)?;
    let files = GoalSource::Disk.files(&workspace);
    load::load_goal(caller, &*files, workspace.clone(), &path, ReconciliationPart::Look)
}

/// The goal with an id, as it is on disk, and the plan of its check run. A file of that name is not meant.
pub fn load_by_id(caller: &dyn Caller, id: &str) -> Result<(LoadedPlan, Arc<Goal>), CommandError> {
    let workspace = caller.host().workspace();
    let goal_file = list_goals_on_disk(&workspace).into_iter().find(|file| file.id.as_deref() == Some(id));
    let Some(file) = goal_file else {
        let error = CommandError::new(CliExitCode::Usage, format!("unknown goal `{id}`"));
        return Err(error.hint(Remedy::from("list the goals with `").action(UserAction::ListGoals).text("`")));
    };
    let files = GoalSource::Disk.files(&workspace);
    load::load_goal(caller, &*files, workspace.clone(), &file.path, ReconciliationPart::Look)
}

/// The goal that a command names by its id or its file, and a login by its id.
pub fn load_named_goal(caller: &dyn Caller, name: &str) -> Result<(LoadedPlan, Arc<Goal>), CommandError> {
    if caller.login().is_some() { load_by_id(caller, name) } else { load_by_name(caller, name) }
}

/// A revision owned by the caller.
struct BorrowedRevision<'a>(&'a GitRevision);

impl SpecFileSource for BorrowedRevision<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, wf_lang::FileReadError> {
        self.0.read(path)
    }

    fn leads_out(&self, path: &str) -> bool {
        self.0.leads_out(path)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        self.0.names(folder)
    }
}
