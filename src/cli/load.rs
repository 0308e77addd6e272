use std::path::Path;
use std::sync::Arc;

use super::workspace::{APPROVERS, CONFIG};
use super::{Begun, Exit, Failure, Ui, Workspace, must_be_text, normal, plans, relative};
use crate::approval::{Approvers, Policy};
use crate::config::Config;
use crate::diag::Severity;
use crate::goal::Part;
use crate::model::{Goal, Plan};
use crate::name::{GateId, RunId};
use crate::report::{Sites, word};
use crate::source::{Source, Span, Spanned};
use crate::spec::{self, Disk, Files, Loaded, Memory, NotLowered};
use crate::store::{Reader, StoreError};

mod other;
mod settings;
mod told;

use other::Other;
use told::sites;

pub use settings::{approvers, configuration, read_approvers, read_config, system_gates};
pub use told::{by_file, say};

/// A plan that may run, and where.
pub struct Ready {
    /// The plan.
    pub plan: Arc<Plan>,
    /// The goal, if it is the plan of one.
    pub goal: Option<OfGoal>,
    /// Its path, relative to the workspace.
    pub path: String,
    /// Where its steps and checks are written, and those of the plans that it uses.
    pub sites: Sites,
    /// The texts it was made of: its own first, the configuration last.
    pub sources: Vec<(String, String)>,
    /// What it is begun with, or was.
    pub begun: Begun,
    /// What holds in the workspace.
    pub config: Config,
    /// Where it runs.
    pub workspace: Workspace,
}

/// What a plan is that belongs to a goal.
#[derive(Clone)]
pub struct OfGoal {
    /// The goal.
    pub goal: Arc<Goal>,
    /// Its whole plan: what it is looked at with, and what repairs it.
    pub whole: Arc<Plan>,
}

/// Loads a plan by its path, or by its id in the workspace. What is wrong with it has been said
/// when this fails.
pub fn plan(ui: &Ui, name: &Path, begun: Begun) -> Result<Ready, Failure> {
    let mut path = normal(&ui.env.cwd().join(name));
    if !path.is_file()
        && let Some(found) = plans::by_id(ui, name.as_os_str())?
    {
        path = found;
    }
    must_be_text(&path)?;
    let shown = relative(&path, ui.env.cwd());
    if !path.exists() {
        return Err(plans::unknown(ui, &shown));
    }
    if path.is_dir() {
        let failure = Failure::new(Exit::Usage, format!("{shown} is a folder, not a plan"));
        return Err(failure.hint(format!(
            "`wf check {}` checks the plans in it",
            word(&shown)
        )));
    }
    let dir = path.parent().unwrap_or(&path);
    let workspace = ui.workspace_of(dir);
    let name = workspace.name(&path);
    let files = Disk::new(&workspace.root);
    ready(ui, &files, workspace, name, begun)
}

/// Loads a plan, or a goal as the plan of its repair, to be looked at by people.
pub fn spec(ui: &Ui, path: &Path) -> Result<Ready, Failure> {
    plan(ui, path, Begun::now(ui, None).of_goal(Part::Repair))
}

/// The goal that a path names, and what a part of its cycle runs.
pub fn goal(
    ui: &Ui,
    files: &dyn Files,
    (workspace, path): (Workspace, &str),
    part: Part,
) -> Result<(Ready, Arc<Goal>), Failure> {
    let begun = Begun::now(ui, None).of_goal(part);
    let ready = ready(ui, files, workspace, path.to_owned(), begun)?;
    if let Some(goal) = ready.goal.as_ref().map(|of| Arc::clone(&of.goal)) {
        return Ok((ready, goal));
    }
    let shown = relative(&ready.workspace.root.join(path), ui.env.cwd());
    let failure = Failure::new(Exit::Usage, format!("{shown} is a plan, not a goal"));
    Err(failure.hint(format!("`wf run {}` runs it", word(&shown))))
}

/// The goal that a path names, where others have said what there is to say about it.
pub fn goal_again(ui: &Ui, workspace: Workspace, path: &str) -> Result<Ready, Failure> {
    let files = Disk::new(&workspace.root);
    let begun = Begun {
        goes_on: true,
        ..Begun::now(ui, None).of_goal(Part::Look)
    };
    ready(ui, &files, workspace, path.to_owned(), begun)
}

/// A goal, or how many mistakes there are in what should be one.
pub type Counted = Result<Arc<Goal>, usize>;

/// The goal that the files of a workspace are at a path: `None` if they are something else, an
/// error with how many mistakes there are if they are a broken one; with the id that it says it
/// has. Says nothing.
pub fn quiet_goal(files: &dyn Files, path: &str) -> Option<(Option<String>, Counted)> {
    let config = read_config(files, CONFIG).map(|(config, _)| config);
    let loaded = checked(files, path, &config.unwrap_or_default().gates());
    let id = match loaded.goal() {
        Some(goal) => goal.id.as_ref().map(|id| id.value.to_string()),
        None if says_goal(&loaded) => None,
        None => return None,
    };
    let errors = loaded.diagnostics.iter();
    let errors = errors.filter(|(_, wrong)| wrong.severity() == Severity::Error);
    let count = errors.count();
    let goal = match spec::lower_goal(&loaded) {
        Ok(goal) if count == 0 => Ok(goal),
        _ => Err(count.max(1)),
    };
    Some((id, goal))
}

/// Whether a file of which too little can be read says that it is a goal: nobody should miss it.
fn says_goal(loaded: &Loaded) -> bool {
    let text = loaded.sources.first().map_or("", Source::text);
    let says = || text.lines().any(|line| line.trim_end() == "kind: goal");
    loaded.root().is_none() && loaded.has_errors() && says()
}

/// Loads a plan from given files of a workspace.
pub fn ready(
    ui: &Ui,
    files: &dyn Files,
    workspace: Workspace,
    path: String,
    begun: Begun,
) -> Result<Ready, Failure> {
    let (config, written) = configuration(ui, files, &workspace)?;
    let config = config.begun(begun.strict);
    let mut loaded = checked(files, &path, &config.gates());
    // What goes on with a cycle has said what there is to say.
    if loaded.has_errors() || !begun.goes_on {
        say(ui, &by_file(ui, &workspace, &loaded));
    }
    if loaded.has_errors() {
        return Err(Failure::silent(Exit::Invalid));
    }
    let kind = || Other::new(ui, &workspace, &path);
    if loaded.gates.contains_key(&0) {
        return Err(kind().refuse("gate", "wf gate test", "asks it"));
    }
    if loaded.goal().is_some() && begun.part.is_none() {
        return Err(kind().refuse("goal", "wf goal run", "runs a cycle of it"));
    }
    limit(&mut loaded, begun.jobs);
    let sites = sites(&loaded);
    let text = |source: &Source| (source.path().to_owned(), source.text().to_owned());
    let mut sources: Vec<(String, String)> = loaded.sources.iter().map(text).collect();
    sources.extend(written.as_ref().map(text));
    Ok(Ready {
        goal: goal_of(&loaded, &config)?,
        plan: lower(&loaded, &config, begun)?,
        path,
        sites,
        sources,
        begun,
        config,
        workspace,
    })
}

/// The plan that a run was recorded with.
pub fn recorded(ui: &Ui, reader: &Reader, run: &RunId) -> Result<Arc<Plan>, Failure> {
    Ok(snapshot(ui, reader, run)?.plan)
}

/// The plan that a run was recorded with, or nothing if it is no plan any more: it was recorded
/// by another version, or forgotten. Says nothing about what is wrong with it.
pub fn before(reader: &Reader, run: &RunId) -> Result<Option<Arc<Plan>>, Failure> {
    before_else(reader, run, |_, _, _| None)
}

/// The same, for who compares it with the plan as it is now: where that is made of the same texts
/// in the same way, it is the very same plan, and nothing is read and checked twice.
pub fn before_or(reader: &Reader, run: &RunId, now: &Ready) -> Result<Option<Arc<Plan>>, Failure> {
    before_else(reader, run, |path, begun, texts| {
        let same =
            path == now.path && begun.makes_as(&now.begun) && is_made_of(&now.sources, texts);
        same.then(|| Arc::clone(&now.plan))
    })
}

/// Whether the recorded texts of a run are those that a plan is made of. Beside them its approval
/// is recorded, which makes no difference to it; a configuration would.
fn is_made_of(sources: &[(String, String)], texts: &[(String, String)]) -> bool {
    let rest = texts.strip_prefix(sources);
    rest.is_some_and(|rest| rest.iter().all(|(path, _)| path != CONFIG))
}

/// The plan that a run was recorded with, if it is not known by its path, how it was begun and its
/// texts.
fn before_else(
    reader: &Reader,
    run: &RunId,
    known: impl FnOnce(&str, &Begun, &[(String, String)]) -> Option<Arc<Plan>>,
) -> Result<Option<Arc<Plan>>, Failure> {
    let path = match reader.run(run) {
        Ok(row) => row.path,
        Err(StoreError::UnknownRun(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let begun = Begun::recorded(&reader.config(run)?);
    let texts = reader.sources(run)?;
    if let Some(plan) = known(&path, &begun, &texts) {
        return Ok(Some(plan));
    }
    Ok(quietly(&memory(texts), &path, begun))
}

/// The plan that some files are, or nothing if they are none. Says nothing about what is wrong.
pub fn quietly(files: &Memory, path: &str, begun: Begun) -> Option<Arc<Plan>> {
    quietly_with(files, path, begun).map(|(plan, _)| plan)
}

/// The same, with the goal that it belongs to.
pub fn quietly_with(
    files: &Memory,
    path: &str,
    begun: Begun,
) -> Option<(Arc<Plan>, Option<Arc<Goal>>)> {
    let config = read_config(files, CONFIG).map(|(config, _)| config);
    let config = config.unwrap_or_default().begun(begun.strict);
    let loaded = checked(files, path, &config.gates());
    if loaded.has_errors() {
        return None;
    }
    let plan = lower(&loaded, &config, begun).ok()?;
    Some((plan, spec::lower_goal(&loaded).ok()))
}

/// Recorded texts as files.
fn memory(texts: Vec<(String, String)>) -> Memory {
    let files = texts.into_iter();
    Memory(
        files
            .map(|(path, text)| (path, text.into_bytes()))
            .collect(),
    )
}

/// The plan that a run was recorded with, and what held in the workspace then.
pub fn snapshot(ui: &Ui, reader: &Reader, run: &RunId) -> Result<Ready, Failure> {
    snapshot_as(ui, reader, run, None)
}

/// The same, of a goal as the plan of a part of its cycle.
pub fn snapshot_as(
    ui: &Ui,
    reader: &Reader,
    run: &RunId,
    part: Option<Part>,
) -> Result<Ready, Failure> {
    // A nested run has its text from the run that it is part of.
    let path = reader.run(run)?.path;
    let mut top = run.clone();
    while let Some((above, _)) = reader.run(&top)?.parent {
        top = above;
    }
    let files = memory(reader.sources(&top)?);
    if !files.0.contains_key(&path) {
        let message = format!("run {} was recorded without its plan", run.short());
        return Err(Failure::new(Exit::State, message));
    }
    let begun = Begun::recorded(&reader.config(&top)?);
    let goes_on = part.is_some();
    let part = part.or(begun.part);
    let begun = Begun {
        part,
        goes_on,
        worked: reader.worked(run)?,
        ..begun
    };
    ready(ui, &files, ui.workspace(), path, begun)
}

/// A file and all that it uses, the gates of the workspace among it, with everything that is
/// wrong with them.
pub fn checked(files: &dyn Files, path: &str, gates: &[GateId]) -> Loaded {
    let mut loaded = spec::load_with(files, path, gates);
    crate::check::check(&mut loaded);
    if let Some((names, required)) = listed(files) {
        crate::check::people(&mut loaded, &names, required);
    }
    loaded
}

/// The names of all who may approve, where others than the owner must, and how many must.
fn listed(files: &dyn Files) -> Option<(Vec<String>, u32)> {
    let (file, _) = read_approvers(files, APPROVERS)?;
    let approvers = Approvers::from(file?);
    let names = approvers.keys.into_iter().map(|one| one.name);
    (approvers.policy == Policy::Reviewed).then(|| (names.collect(), approvers.required))
}

/// Lets a number from the command line replace what the plan says.
fn limit(loaded: &mut Loaded, jobs: Option<u32>) {
    let Some(jobs) = jobs else { return };
    if let Some(Some(plan)) = loaded.plans.first_mut() {
        let none = spec::ast::Policy {
            max_parallel: None,
            on_failure: None,
            grace: None,
        };
        let policy = plan.policy.get_or_insert(none);
        policy.max_parallel = Some(Spanned::new(jobs, Span::default()));
    }
}

fn lower(loaded: &Loaded, config: &Config, begun: Begun) -> Result<Arc<Plan>, Failure> {
    let plan = spec::lower(loaded, &config.defaults).map_err(|error| not_lowered(&error))?;
    let is_look = loaded.goal().is_some() && begun.part == Some(Part::Look);
    Ok(if is_look { plan.checks_only() } else { plan })
}

/// The goal that files are, if they are one.
fn goal_of(loaded: &Loaded, config: &Config) -> Result<Option<OfGoal>, Failure> {
    if loaded.goal().is_none() {
        return Ok(None);
    }
    let whole = spec::lower(loaded, &config.defaults).map_err(|error| not_lowered(&error))?;
    let goal = spec::lower_goal(loaded).map_err(|error| not_lowered(&error))?;
    Ok(Some(OfGoal { goal, whole }))
}

fn not_lowered(error: &NotLowered) -> Failure {
    let exit = match error {
        NotLowered::Broken => Exit::Invalid,
        NotLowered::Unsound(_) => Exit::Bug,
    };
    Failure::new(exit, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::{CONFIG, is_made_of};

    #[test]
    fn what_is_made_of_the_same_texts_is_the_same() {
        let text = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let plan = || text("plan.md", "a");
        let sources = [plan(), text("gates/g.md", "g")];
        let with = |more: &[(String, String)]| [&sources[..], more].concat();
        assert!(is_made_of(&sources, &sources));
        assert!(is_made_of(
            &sources,
            &with(&[text("plan.approval.json", "t")])
        ));
        // A configuration that was there and is not any more, or came since.
        assert!(!is_made_of(&sources, &with(&[text(CONFIG, "")])));
        assert!(!is_made_of(&with(&[text(CONFIG, "")]), &sources));
        assert!(!is_made_of(&sources, &[plan()]));
        assert!(!is_made_of(&[plan()], &[text("plan.md", "b")]));
    }
}
