//! The opening of all needs of a run.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use crate::{
    APPROVERS, CONFIG, Caller, CliExitCode, CommandError, Host, Workspace,
    approve::WorkspaceApprovers,
    config,
    git::{GitLocation, GitRepository, RepositoryTrust},
    goals::FOLDERS,
    keep,
    specs::load::{LoadedPlan, SnapshotReader, read_config},
    watch::{AuditedSession, start_audit},
};
use wf_base::{
    diag::Severity,
    untrusted::{NAME, WARN, paint},
};
use wf_core::{observe::RunObserver, permit::ParallelLimits};
use wf_engine::{ApproverSource, EngineError, EngineSession, FinishedRun, SharedState};
use wf_exec::{
    container,
    manifest::{ExcludedFiles, WorkspaceManifest},
    originals::WorkspaceRepository,
    runtime,
    sandbox::SandboxFactory,
    view::family,
};
use wf_lang::{DiskFiles, GATES};
use wf_model::Step;
use wf_skill::lock::LOCK;
use wf_store::{
    StateFolder, Store, StoreDurability, StoreError,
    feed::{BusMessage, LogAnchor, WorkspaceAction},
};

/// The name of git's repository folder, or of the file that points to it.
const REPOSITORY: &str = ".git";

/// Opens what a run needs to start or to go on, with a listener following the run. Refused if a
/// step runs in a container and there is no container engine.
pub fn open_run_session(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
    stays: bool,
    observer: Box<dyn RunObserver + Send>,
) -> Result<AuditedSession, CommandError> {
    require_container_engine(caller.host(), loaded)?;
    open_session(caller, loaded, stays, observer)
}

fn require_container_engine(host: &Host, loaded: &LoadedPlan) -> Result<(), CommandError> {
    if container::find_engine(host.var("PATH")).is_some() {
        return Ok(());
    }
    for plan in family(&loaded.plan) {
        let in_container = |step: &&Step| step.ways().any(|alternative| alternative.container.is_some());
        if let Some(step) = plan.steps().iter().find(in_container) {
            let (plan, step) = (plan.id(), &step.id);
            let message =
                format!("step `{step}` of `{plan}` runs in a container, and {}", container::NO_ENGINE);
            let hint = "install podman or docker, or remove `container` from the step";
            return Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
        }
    }
    Ok(())
}

/// Opens what a run needs, with a listener following the run.
pub fn open_session(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
    stays: bool,
    observer: Box<dyn RunObserver + Send>,
) -> Result<AuditedSession, CommandError> {
    let approvers = Box::new(WorkspaceApprovers::of(caller, &loaded.workspace)?);
    open_session_for(caller, loaded, approvers, stays, observer)
}

/// Opens what a run needs, for a run started with these approvers.
pub fn open_session_for(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
    approvers: Box<dyn ApproverSource>,
    stays: bool,
    observer: Box<dyn RunObserver + Send>,
) -> Result<AuditedSession, CommandError> {
    StateFolder::new(&loaded.workspace.state).may_be_written()?;
    runtime::check_address_space().map_err(|error| {
        CommandError::new(CliExitCode::State, error.to_string())
            .hint("nothing was started, and no approval was used")
    })?;
    // Started first: it gets ready while the database is opened.
    let hands = keep::start_supervisor(caller.host(), &loaded.workspace.state)?;
    let store = open_store(caller.host(), loaded)?;
    let audited_bus = start_audit(caller, loaded)?;
    let host = Arc::new(caller.host().vars());
    let session = Arc::new(EngineSession {
        store,
        clock: caller.host().clock(),
        root: loaded.workspace.root.clone(),
        shared: SharedState::new(&host, &loaded.config.env_pass)
            .with_limits(limits_of(caller.host(), loaded)),
        host,
        plans: Box::new(SnapshotReader::of(loaded)),
        models: Arc::clone(&loaded.config.models),
        repository: repository_of(caller.host(), &loaded.workspace),
        log_limit: loaded.config.logs.max_bytes,
        executor: hands,
        sandboxes: sandbox_factory(
            caller.host(),
            &loaded.config.sandbox,
            &loaded.workspace,
            control_files(loaded)?,
        ),
        approvers,
        reuses: !loaded.options.no_cache,
        stays,
        learns_preferences: loaded.config.learns_preferences,
        bus: audited_bus.bus.clone(),
        observer: Mutex::new(observer),
    });
    Ok(AuditedSession { session, bus: audited_bus })
}

/// Returns the limits on steps that execute at once. They are those of the workspace now, whatever a resumed run was
/// recorded with, or the revision of a goal says: all runs share them. A run begun by a step has none: that step has a
/// permit while it waits for the run.
fn limits_of(host: &Host, loaded: &LoadedPlan) -> ParallelLimits {
    if host.var("WF_RUN").is_some() {
        return ParallelLimits::default();
    }
    match read_config(&DiskFiles::new(&loaded.workspace.root), CONFIG) {
        Some((_, checked)) if checked.count(Severity::Error) > 0 => loaded.config.limits,
        Some((config, _)) => config.limits,
        None => ParallelLimits::default(),
    }
}

/// Opens the state of a workspace for writing.
pub fn open_store(host: &Host, loaded: &LoadedPlan) -> Result<Store, CommandError> {
    let (state, clock) = (&loaded.workspace.state, host.clock());
    let lease = host.lease()?;
    Ok(Store::open_with_lease(state, durability(loaded), clock, lease)?)
}

/// Returns the files of the workspace that control wf: its configuration, what it may take from the
/// workspace by a known name, the texts of a plan, and the repositories in it.
fn control_files(loaded: &LoadedPlan) -> Result<Vec<String>, CommandError> {
    let file_names = [CONFIG, APPROVERS, LOCK, GATES, REPOSITORY].into_iter();
    let names = file_names.chain(FOLDERS).map(str::to_owned);
    let texts = loaded.sources.iter().map(|(name, _)| name.clone());
    let mut files: Vec<String> = names.chain(texts).collect();
    files.extend(nested_repositories(loaded)?);
    files.retain(|file| Path::new(file).is_relative());
    files.sort();
    files.dedup();
    Ok(files)
}

/// Returns the repositories below the workspace, where a step may write a folder that could contain
/// one. A repository a step creates later is its own.
fn nested_repositories(loaded: &LoadedPlan) -> Result<Vec<String>, CommandError> {
    let plans = family(&loaded.plan).into_iter();
    let mut ways = plans.flat_map(|plan| plan.steps()).flat_map(Step::ways);
    if !ways.any(|alternative| alternative.permissions().any(|allow| !allow.write.is_empty())) {
        return Ok(Vec::new());
    }
    let apart = ExcludedFiles::new([loaded.workspace.state.as_path()]);
    let files = WorkspaceManifest::of_workspace(&loaded.workspace.root, &apart);
    let files = files.map_err(|error| CommandError::new(CliExitCode::Usage, error.reason))?;
    let repositories = files.named(OsStr::new(REPOSITORY)).into_iter();
    let described = repositories.map(|path| {
        path.into_os_string().into_string().map_err(|path| {
            let shown = path.display();
            CommandError::new(
                CliExitCode::Usage,
                format!("the path of the repository `{shown}` is not UTF-8"),
            )
            .hint("rename its directory: wf cannot protect it from steps that may write there")
        })
    });
    described.collect()
}

/// Returns the sandbox for checks and steps, as the configuration defines it; `None`: no sandbox.
pub fn sandbox_factory(
    host: &Host,
    config: &config::SandboxConfig,
    workspace: &Workspace,
    control: Vec<String>,
) -> Option<Arc<SandboxFactory>> {
    let around = || {
        SandboxFactory::new(&workspace.root, &workspace.state, &host.vars(), &config.read)
            .with_control(control)
            .with_repository(repository_folders(&workspace.root))
            .with_trusted(trusted_folders(host, workspace))
    };
    config.on.then(|| Arc::new(around()))
}

/// Returns the folders of the repository around a workspace; none if git refuses it, or it cannot be read: `wf doctor`
/// says so.
fn repository_folders(root: &Path) -> Vec<PathBuf> {
    let git_location = GitLocation::find(root).ok().flatten();
    git_location.map(|location| location.folders()).unwrap_or_default()
}

/// Returns what the user's settings of git say of a repository of another user; nothing if they cannot be read: `wf doctor`
/// says so.
fn trusted_folders(host: &Host, workspace: &Workspace) -> Vec<String> {
    let location = GitLocation::find(&workspace.root).ok().flatten();
    let trust =
        location.and_then(|location| RepositoryTrust::of(&location, &workspace.state, &host.vars()).ok()?);
    trust.map(|trust| trust.values).unwrap_or_default()
}

/// Returns the repository a workspace is in, for files as they were; `None`: none, or git refuses it.
fn repository_of(host: &Host, workspace: &Workspace) -> Option<Arc<dyn WorkspaceRepository>> {
    let repository = GitRepository::find(&workspace.root, &workspace.state, &host.vars()).ok()??;
    Some(Arc::new(repository))
}

/// Returns the durability of the record of a run: as the run was started with, else as configured.
fn durability(loaded: &LoadedPlan) -> StoreDurability {
    loaded.options.durability.unwrap_or(match loaded.config.durability {
        config::DurabilitySetting::Full => StoreDurability::Full,
        config::DurabilitySetting::Normal => StoreDurability::Normal,
    })
}

/// True if another run took the next use of an approval, and uses remain:
/// nothing was started, and counting again may find one.
pub fn lost_use_race(finished: &Result<FinishedRun, EngineError>) -> bool {
    let Err(EngineError::Store(StoreError::UsedUp { execution, executions })) = finished else {
        return false;
    };
    execution < executions
}

/// Deletes the runs beyond the retention of the configuration. The outcome of the run stands, even
/// if this fails.
pub fn prune(caller: &dyn Caller, session: &AuditedSession, loaded: &LoadedPlan) {
    let Some(keep) = loaded.config.retention.limits() else {
        return;
    };
    let now = caller.host().now();
    if !loaded.config.retention.is_written && session.store.folder().has_way_back(now) {
        return;
    }
    let due = session.store.reader().and_then(|reader| {
        // The run that has just ended is the last one, by its own clock.
        let keep = keep.counted_to(reader.runs().last_end(1)?, now);
        Ok(reader.runs().may_exceed(keep, now)?.then_some(keep))
    });
    let keep = match due {
        Ok(Some(keep)) => keep,
        Ok(None) => return,
        Err(error) => return report_prune_failure(caller, &error),
    };
    match session.store.prune(keep, caller.host().now()) {
        Ok(pruned) if pruned.runs > 0 => {
            let runs = pruned.runs as u64;
            let db = pruned.position.map(|place| LogAnchor { seq: place.seq, hash: place.hash });
            session.publish(BusMessage::act(caller.host().now(), WorkspaceAction::Pruned { runs, db }));
            let pruned = wf_audit::prune(&loaded.workspace.state, keep, caller.host().now());
            if let Err(error) = pruned {
                report_prune_failure(caller, &error);
            }
        }
        Ok(_) => {}
        Err(error) => report_prune_failure(caller, &error),
    }
}

fn report_prune_failure(caller: &dyn Caller, error: &StoreError) {
    let (warning, hint) = (paint(WARN, "warning:"), paint(NAME, "hint:"));
    let remedy = caller.remedy_text(&error.remedy());
    caller.message(&format!("{warning} cannot delete old runs: {error}\n{hint} {remedy}\n"));
}
