//! The plans and goals of a workspace, by id.

use std::{ffi::OsStr, path::PathBuf};

use super::{
    collect::SpecFileSet,
    load::{load_with_gates, system_gates},
};
use crate::{CONFIG, CliExitCode, CommandError, Host, Workspace};
use wf_base::{
    diag::{Diagnostic, Severity, nearest},
    name::PlanId,
    remedy::{Remedy, UserAction},
};
use wf_lang::{self as lang, DiskFiles, LoadedSpec};

/// The folders of a workspace with plans and goals, besides its root.
const FOLDERS: [&str; 2] = ["workflows", "goals"];

/// A plan, a dag or a goal of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecSummary {
    /// Its path, relative to the workspace.
    pub path: String,
    /// The kind declared in its file.
    pub kind: &'static str,
    /// Its id, as far as it can be read.
    pub id: Option<String>,
    pub title: Option<String>,
    pub error_count: usize,
    /// The first of its errors, with its place.
    pub first_error: Option<String>,
    /// The files it is made of besides its own, by path.
    pub uses: Vec<String>,
}

/// All plans and goals of a workspace, by path.
pub fn list_specs(workspace: &Workspace) -> Vec<SpecSummary> {
    let files = DiskFiles::new(&workspace.root);
    let gates = system_gates(&files);
    let listed = paths(workspace).into_iter().filter_map(|path| {
        let loaded = load_with_gates(&files, &path, &gates);
        let errors = loaded.diagnostics.iter();
        let mut errors = errors.filter(|(_, diagnostic)| diagnostic.severity() == Severity::Error);
        let first_error = errors.next().map(|(file, diagnostic)| located_text(&loaded, *file, diagnostic));
        let mistakes = errors.count() + usize::from(first_error.is_some());
        let (id, title) = id_and_title(&loaded);
        let uses = loaded.sources.iter().skip(1).map(|source| source.path().to_owned()).collect();
        Some(SpecSummary {
            kind: spec_kind(&loaded)?,
            id,
            title,
            path,
            error_count: mistakes,
            first_error,
            uses,
        })
    });
    listed.collect()
}

/// Returns a diagnostic in one line, with its place.
fn located_text(loaded: &LoadedSpec, file: usize, diagnostic: &Diagnostic) -> String {
    match loaded.sources.get(file) {
        Some(source) => {
            let line = source.line_column(diagnostic.span.start).line;
            format!("{}:{line}: {}", source.path(), diagnostic.message)
        }
        None => diagnostic.message.clone(),
    }
}

/// A plan of a workspace, with the part of an address that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressedPlan {
    pub summary: SpecSummary,
    /// Its id, which stays when the file moves; its path if it has none, or another plan has the same.
    pub address: String,
}

/// Returns the plans among plans and goals.
pub fn plan_files(summaries: &[SpecSummary]) -> Vec<AddressedPlan> {
    let plans = || summaries.iter().filter(|summary| summary.kind != "goal");
    let address = |summary: &SpecSummary| {
        let id = summary.id.as_ref().filter(|id| PlanId::parse(id).is_ok())?;
        let same = plans().filter(|other| other.id.as_ref() == Some(id));
        (same.count() == 1).then(|| id.clone())
    };
    let file = |summary: &SpecSummary| AddressedPlan {
        address: address(summary).unwrap_or_else(|| summary.path.clone()),
        summary: summary.clone(),
    };
    plans().map(file).collect()
}

/// The file of the plan with an id; `None` if this is not an id, or no plan has it. An id of
/// several plans is ambiguous, and names none.
pub fn find_by_id(host: &Host, name: &OsStr) -> Result<Option<PathBuf>, CommandError> {
    let Some(id) = name.to_str().and_then(|name| PlanId::parse(name).ok()) else {
        return Ok(None);
    };
    let workspace = host.workspace();
    let files = DiskFiles::new(&workspace.root);
    let mut plan_paths = paths(&workspace);
    plan_paths.retain(|path| {
        let loaded = lang::load(&files, path);
        spec_kind(&loaded).is_some() && id_and_title(&loaded).0.as_deref() == Some(id.as_str())
    });
    match plan_paths.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(workspace.root.join(only))),
        several => {
            let message = format!("the id `{id}` is ambiguous: {}", several.join(", "));
            Err(CommandError::new(CliExitCode::Usage, message)
                .hint("pass the file, or change one of the ids"))
        }
    }
}

/// Reports that there is no such plan, with suggestions.
pub fn unknown_plan(host: &Host, name: &str) -> CommandError {
    let not_found = CommandError::new(CliExitCode::Usage, format!("file not found: {name}"));
    if PlanId::parse(name).is_err() {
        return not_found.hint(
            Remedy::from("list plans with `")
                .action(UserAction::ListPlans)
                .text("`, or create one with `")
                .action(UserAction::InitWorkspace)
                .text("`"),
        );
    }
    let summaries = list_specs(&host.workspace());
    let ids = summaries.iter().filter_map(|summary| summary.id.as_deref());
    let error = CommandError::new(CliExitCode::Usage, format!("plan not found: no file or plan id `{name}`"));
    match nearest(name, ids) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None if summaries.is_empty() => {
            error.hint(Remedy::from("create a first plan with `").action(UserAction::InitWorkspace).text("`"))
        }
        None => error
            .hint(Remedy::from("list plans and their ids with `").action(UserAction::ListPlans).text("`")),
    }
}

/// The paths of potential plans and goals, without those of workspaces inside this one.
fn paths(workspace: &Workspace) -> Vec<String> {
    let mut files = SpecFileSet::default();
    for folder in FOLDERS {
        files.add_folder(&workspace.root.join(folder));
    }
    files.add_top_level(&workspace.root);
    let is_own = |path: &&PathBuf| {
        let mut folders = path.ancestors().skip(1).take_while(|folder| **folder != workspace.root);
        folders.all(|folder| !folder.join(CONFIG).exists())
    };
    let mut paths: Vec<String> = files.plans.iter().filter(is_own).map(|path| workspace.name(path)).collect();
    paths.sort();
    paths
}

/// The kind of a file, if it is a plan or a goal, or declares to be one.
fn spec_kind(loaded: &LoadedSpec) -> Option<&'static str> {
    let text = loaded.sources.first()?.text();
    let says = |kind: &str| {
        let mut lines = text.lines().skip(1).take_while(|line| line.trim_end() != "---");
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

/// The id and the title in a file.
fn id_and_title(loaded: &LoadedSpec) -> (Option<String>, Option<String>) {
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
