//! Plans and goals, from their files or as a run recorded them.

use std::{path::Path, sync::Arc};

use super::{backend_names::check_backends, plans};
use crate::{
    APPROVERS, CONFIG, Caller, CliExitCode, CommandError, RunOptions, Workspace, config::WorkspaceConfig,
    goals::StartedRun, normalize_path, relative_path, require_utf8, runs::run_worktree::RunWorktree,
};
use diagnostics::declaration_sites;
use other::NonPlanFile;
use recorded::{RecordedFiles, memory_files};
use wf_base::{
    diag::Severity,
    name::{GateId, RunId},
    remedy::{Remedy, UserAction},
    source::{DeclarationSites, SourceText, Span, Spanned},
};
use wf_core::goal::ReconciliationPart;
use wf_lang::{self as lang, DiskFiles, InMemoryFiles, LoadedSpec, LoweringError, SpecFileSource};
use wf_model::{Goal, Plan};
use wf_sign::approval::{Approvers, ReviewPolicy};
use wf_store::StoreReader;

mod diagnostics;
mod generated;
mod other;
mod plan_cache;
mod recorded;
mod settings;
mod within;

pub use diagnostics::diagnostics_by_file;
pub use generated::SnapshotReader;
pub use plan_cache::PlanCache;
pub use recorded::{recorded_plan_if_valid, recorded_plan_or_current};
pub use settings::{approvers, configuration, read_approvers, read_config, system_gates};
pub use within::EnvelopeStep;

/// A plan that may run, and its context.
pub struct LoadedPlan {
    pub plan: Arc<Plan>,
    pub goal: Option<GoalPlan>,
    /// Its path, relative to the workspace.
    pub path: String,
    /// The places in the texts where its steps and checks are written, and those of the plans it uses.
    pub sites: DeclarationSites,
    /// The texts it was made of: its own first, the configuration last.
    pub sources: Vec<(String, String)>,
    /// The options of its start.
    pub options: RunOptions,
    pub config: WorkspaceConfig,
    /// The workspace of its runs.
    pub workspace: Workspace,
    /// Its own worktree; `None`: it runs where people work.
    pub worktree: Option<RunWorktree>,
}

/// The goal of a plan.
#[derive(Clone)]
pub struct GoalPlan {
    pub goal: Arc<Goal>,
    /// Its whole plan: the checks, and the repair.
    pub whole_plan: Arc<Plan>,
}

/// Loads a plan by its path, or by its id in the workspace. On failure its errors have been
/// printed.
pub fn load_named(caller: &dyn Caller, name: &Path, options: RunOptions) -> Result<LoadedPlan, CommandError> {
    let mut path = normalize_path(&caller.host().cwd().join(name));
    if !path.is_file()
        && let Some(plan_path) = plans::find_by_id(caller.host(), name.as_os_str())?
    {
        path = plan_path;
    }
    require_utf8(&path)?;
    let shown = relative_path(&path, caller.host().cwd());
    if !path.exists() {
        return Err(plans::unknown_plan(caller.host(), &shown));
    }
    if path.is_dir() {
        let error = CommandError::new(CliExitCode::Usage, format!("{shown} is a directory, not a plan"));
        let remedy = Remedy::from("`").action(UserAction::CheckFile(shown));
        return Err(error.hint(remedy.text("` checks the plans in it")));
    }
    let dir = path.parent().unwrap_or(&path);
    let workspace = caller.host().workspace_of(dir);
    let name = workspace.name(&path);
    let files = DiskFiles::new(&workspace.root);
    load_plan(caller, &files, workspace, name, options)
}

/// Loads a plan, or a goal as the plan of its repair, for review.
pub fn load_for_review(caller: &dyn Caller, path: &Path) -> Result<LoadedPlan, CommandError> {
    load_named(caller, path, RunOptions::at_present(caller.host(), None).of_goal(ReconciliationPart::Repair))
}

/// The goal at a path, and the plan of a part of its reconciliation.
pub fn load_goal(
    caller: &dyn Caller,
    files: &dyn SpecFileSource,
    workspace: Workspace,
    path: &str,
    part: ReconciliationPart,
) -> Result<(LoadedPlan, Arc<Goal>), CommandError> {
    let options = RunOptions::at_present(caller.host(), None).of_goal(part);
    let ready = load_plan(caller, files, workspace, path.to_owned(), options)?;
    if let Some(goal) = ready.goal.as_ref().map(|goal_plan| Arc::clone(&goal_plan.goal)) {
        return Ok((ready, goal));
    }
    let shown = relative_path(&ready.workspace.root.join(path), caller.host().cwd());
    let error = CommandError::new(CliExitCode::Usage, format!("{shown} is a plan, not a goal"));
    Err(error.hint(Remedy::from("`").action(UserAction::RunFile(shown)).text("` runs it")))
}

/// The goal at a path, without printing its diagnostics again.
pub fn reload_goal(
    caller: &dyn Caller,
    workspace: Workspace,
    path: &str,
) -> Result<LoadedPlan, CommandError> {
    let files = DiskFiles::new(&workspace.root);
    let options = RunOptions {
        is_continuation: true,
        ..RunOptions::at_present(caller.host(), None).of_goal(ReconciliationPart::Look)
    };
    load_plan(caller, &files, workspace, path.to_owned(), options)
}

/// A goal, or the number of errors in a broken one.
pub type GoalLoadResult = Result<Arc<Goal>, usize>;

/// Returns the goal at a path among the files of a workspace: `None` if the file is something else,
/// the number of errors if it is a broken goal; with the id in the file. Prints nothing.
pub fn collect_goal(files: &dyn SpecFileSource, path: &str) -> Option<(Option<String>, GoalLoadResult)> {
    let config = read_config(files, CONFIG).map(|(config, _)| config);
    let loaded = load_with_gates(files, path, &config.unwrap_or_default().gates());
    let id = match loaded.goal() {
        Some(goal) => goal.id.as_ref().map(|id| id.value.to_string()),
        None if declares_goal(&loaded) => None,
        None => return None,
    };
    let errors = loaded.diagnostics.iter();
    let errors = errors.filter(|(_, diagnostic)| diagnostic.severity() == Severity::Error);
    let count = errors.count();
    let goal = match lang::lower_goal(&loaded) {
        Ok(goal) if count == 0 => Ok(goal),
        _ => Err(count.max(1)),
    };
    Some((id, goal))
}

/// True if a file can be read as a spec of any kind.
pub fn is_spec(files: &dyn SpecFileSource, path: &str) -> bool {
    load_with_gates(files, path, &[]).root().is_some()
}

/// True if an otherwise unreadable file declares to be a goal: it must not go unnoticed.
fn declares_goal(loaded: &LoadedSpec) -> bool {
    let text = loaded.sources.first().map_or("", SourceText::text);
    let says = || text.lines().any(|line| line.trim_end() == "kind: goal");
    loaded.root().is_none() && loaded.has_errors() && says()
}

/// Loads a plan from given files of a workspace.
pub fn load_plan(
    caller: &dyn Caller,
    files: &dyn SpecFileSource,
    workspace: Workspace,
    path: String,
    run_options: RunOptions,
) -> Result<LoadedPlan, CommandError> {
    let (config, written) = configuration(caller, files, &workspace)?;
    let config = config.with_strictness(run_options.strict);
    let mut loaded = load_with_gates(files, &path, &config.gates());
    // The diagnostics of a resumed reconciliation were printed before.
    if loaded.has_errors() || !run_options.is_continuation {
        caller.diagnostics(&diagnostics_by_file(caller.host(), &workspace, &loaded));
    }
    if loaded.has_errors() {
        return Err(CommandError::reported(CliExitCode::Invalid));
    }
    let kind = || NonPlanFile::new(caller.host(), &workspace, &path);
    if loaded.gates.contains_key(&0) {
        return Err(kind().refuse("gate", UserAction::TestGate, "evaluates it"));
    }
    if loaded.personas.contains_key(&0) {
        return Err(kind().refuse("persona", UserAction::CheckFile, "checks it"));
    }
    if loaded.goal().is_some() && run_options.part.is_none() {
        return Err(kind().refuse("goal", UserAction::RunGoalFile, "runs it"));
    }
    limit_concurrency(&mut loaded, run_options.jobs);
    let sites = declaration_sites(&loaded);
    let text = |source: &SourceText| (source.path().to_owned(), source.text().to_owned());
    let mut sources: Vec<(String, String)> = loaded.sources.iter().map(text).collect();
    sources.extend(written.as_ref().map(text));
    let goal = goal_of(&loaded, &config)?;
    let part =
        run_options.part.map(|part| goal.as_ref().map_or(part, |goal_plan| part.of_goal(&goal_plan.goal)));
    Ok(LoadedPlan {
        goal,
        plan: lower(&loaded, &config, run_options)?,
        path,
        sites,
        sources,
        options: RunOptions { part, ..run_options },
        config,
        workspace,
        worktree: None,
    })
}

/// The recorded plan of a run.
pub fn recorded_plan(
    caller: &dyn Caller,
    reader: &StoreReader,
    run: &RunId,
) -> Result<Arc<Plan>, CommandError> {
    Ok(load_recorded(caller, reader, run)?.plan)
}

/// The plan in some files, or nothing if they contain none. Prints no diagnostics.
pub fn collect_plan(files: &InMemoryFiles, path: &str, options: RunOptions) -> Option<Arc<Plan>> {
    collect_plan_and_goal(files, path, options).map(|(plan, _)| plan)
}

/// The same, with the goal it belongs to.
pub fn collect_plan_and_goal(
    files: &InMemoryFiles,
    path: &str,
    options: RunOptions,
) -> Option<(Arc<Plan>, Option<Arc<Goal>>)> {
    let config = read_config(files, CONFIG).map(|(config, _)| config);
    let config = config.unwrap_or_default().with_strictness(options.strict);
    let loaded = load_with_gates(files, path, &config.gates());
    if loaded.has_errors() {
        return None;
    }
    let plan = lower(&loaded, &config, options).ok()?;
    Some((plan, lang::lower_goal(&loaded).ok()))
}

/// The recorded plan of a run, and the configuration of the workspace then.
pub fn load_recorded(
    caller: &dyn Caller,
    reader: &StoreReader,
    run: &RunId,
) -> Result<LoadedPlan, CommandError> {
    load_recorded_as(caller, reader, run, None)
}

/// Another plan among the recorded texts of a run, to start it as a run of its own.
pub fn load_recorded_plan_at(
    caller: &dyn Caller,
    reader: &StoreReader,
    run: &RunId,
    path: &str,
) -> Result<LoadedPlan, CommandError> {
    let files = RecordedFiles::of(reader, run)?.files;
    let options = RunOptions::at_present(caller.host(), None);
    load_plan(caller, &files, caller.host().workspace(), path.to_owned(), options)
}

/// The same, of a goal as the plan of a part of its reconciliation.
pub fn load_recorded_as(
    caller: &dyn Caller,
    reader: &StoreReader,
    run: &RunId,
    part: Option<ReconciliationPart>,
) -> Result<LoadedPlan, CommandError> {
    let path = reader.runs().get(run)?.path;
    let RecordedFiles { files, top } = RecordedFiles::of(reader, run)?;
    if !files.0.contains_key(&path) {
        let message = format!("run {} was recorded without its plan", run.short());
        return Err(CommandError::new(CliExitCode::State, message));
    }
    let run_options = RunOptions::recorded(&reader.runs().config(&top)?);
    let goes_on = part.is_some();
    let part = part.or(run_options.part);
    let options = RunOptions {
        part,
        is_continuation: goes_on,
        prior_work: reader.runs().work_time(run)?,
        ..run_options
    };
    let home = caller.host().workspace();
    let worktree = RunWorktree::recorded(&reader.runs().config(&top)?, &home);
    // Without its worktree, the workspace has its products.
    let present = worktree.as_ref().filter(|worktree| worktree.folder().exists());
    let workspace = present.map_or(home, RunWorktree::workspace);
    Ok(LoadedPlan { worktree, ..load_plan(caller, &files, workspace, path, options)? })
}

/// The plan of a run started by the backend of a deployed goal.
pub(crate) fn load_started(
    caller: &dyn Caller,
    workspace: Workspace,
    started: &StartedRun,
) -> Result<LoadedPlan, CommandError> {
    let options = RunOptions { is_continuation: true, ..RunOptions::recorded(&started.config) };
    let files = memory_files(started.sources.clone());
    load_plan(caller, &files, workspace, started.path.clone(), options)
}

/// A file and all files it uses, including the gates of the workspace, with all their
/// diagnostics.
pub fn load_with_gates(files: &dyn SpecFileSource, path: &str, gates: &[GateId]) -> LoadedSpec {
    let mut loaded = lang::load_with(files, path, gates);
    wf_lang::check::check(&mut loaded);
    if let Some((names, required)) = approver_names(files) {
        wf_lang::check::people(&mut loaded, &names, required);
    }
    wf_lang::check::models(&mut loaded, || settings::known_models(files));
    check_backends(&mut loaded, files);
    loaded
}

/// The names of all approvers, where the owner alone is not enough, and the quorum.
fn approver_names(files: &dyn SpecFileSource) -> Option<(Vec<String>, u32)> {
    let (file, _) = read_approvers(files, APPROVERS)?;
    let approvers = Approvers::from(file?);
    let names = approvers.keys.into_iter().map(|approver| approver.name);
    (approvers.policy == ReviewPolicy::Reviewed).then(|| (names.collect(), approvers.required))
}

/// Overrides the concurrency of the plan by a number from the command line.
fn limit_concurrency(loaded: &mut LoadedSpec, jobs: Option<u32>) {
    let Some(jobs) = jobs else { return };
    if let Some(Some(plan)) = loaded.plans.first_mut() {
        let none = lang::ast::PolicySpec { max_parallel: None, on_failure: None, grace: None };
        let policy = plan.policy.get_or_insert(none);
        policy.max_parallel = Some(Spanned::new(jobs, Span::default()));
    }
}

fn lower(
    loaded: &LoadedSpec,
    config: &WorkspaceConfig,
    options: RunOptions,
) -> Result<Arc<Plan>, CommandError> {
    let plan = lang::lower(loaded, &config.defaults).map_err(|error| lowering_error(&error))?;
    let is_look = loaded.goal().is_some() && options.part == Some(ReconciliationPart::Look);
    Ok(if is_look { plan.checks_only() } else { plan })
}

/// The goal in some files, if it is one.
fn goal_of(loaded: &LoadedSpec, config: &WorkspaceConfig) -> Result<Option<GoalPlan>, CommandError> {
    if loaded.goal().is_none() {
        return Ok(None);
    }
    let whole = lang::lower(loaded, &config.defaults).map_err(|error| lowering_error(&error))?;
    let goal = lang::lower_goal(loaded).map_err(|error| lowering_error(&error))?;
    Ok(Some(GoalPlan { goal, whole_plan: whole }))
}

fn lowering_error(error: &LoweringError) -> CommandError {
    let exit = match error {
        LoweringError::Broken => CliExitCode::Invalid,
        LoweringError::Unsound(_) => CliExitCode::Bug,
    };
    CommandError::new(exit, error.to_string())
}
