use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::approve::{RunApprovalRequest, SigningRules, approval_requests};
use super::goals::FOLDERS;
use super::load::LoadedPlan;
use super::watch::{AuditedSession, start_audit};
use super::{
    CliExitCode, CommandError, Terminal, Ui, Workspace, keep, load_record, normalize_path, relative_path,
};
use wf_app::Caller;
use wf_app::Host;
use wf_app::config;
use wf_app::{APPROVERS, CONFIG};
use wf_base::name::RunId;
use wf_base::untrusted::{NAME, WARN, paint};
use wf_core::machine::{Attempt, RunOutcome};
use wf_core::observe::RunObserver;
use wf_engine::{EngineError, EngineSession, FinishedRun, SessionParts, SuspendedRequest};
use wf_exec::log;
use wf_exec::manifest::{ExcludedFiles, WorkspaceManifest};
use wf_exec::sandbox::SandboxFactory;
use wf_exec::view::family;
use wf_lang::GATES;
use wf_report::follow::{
    CombinedObserver, GithubAnnotator, JsonEventWriter, LiveView, PlainPrinter, ResumeOptions, RunTracker,
    TerminalInfo, Verbosity,
};
use wf_report::record::{RunRecord, junit, summary};
use wf_skill::lock::LOCK;
use wf_store::feed::{BusMessage, LogAnchor, WorkspaceAction};
use wf_store::{RunRetention, StateFolder, Store, StoreDurability, StoreError, StoreReader};

/// The name of git's repository folder, or of the file that points to it.
const REPOSITORY: &str = ".git";

/// The number of last lines of an attempt in a report.
const REPORT_LINES: usize = 50;

/// The options for following and reporting a run.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputArgs {
    /// Write every event as a line of JSON
    #[arg(long)]
    pub json: bool,
    /// Write a JUnit report
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a JSON report
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Block until approvals are answered instead of exiting with code 5
    #[arg(long)]
    pub wait: bool,
}

/// Opens what a run needs.
pub fn session(ui: &Ui, ready: &LoadedPlan, telling: &OutputArgs) -> Result<AuditedSession, CommandError> {
    open_session(ui, ready, telling.wait, observer(ui, ready, telling))
}

/// Opens what a run needs, with a listener that follows the run.
pub fn open_session(
    caller: &dyn Caller,
    ready: &LoadedPlan,
    stays: bool,
    observer: Box<dyn RunObserver + Send>,
) -> Result<AuditedSession, CommandError> {
    StateFolder::new(&ready.workspace.state).may_be_written()?;
    // Started first: it gets ready while the database is opened.
    let hands = keep::start_supervisor(caller.host(), &ready.workspace.state)?;
    let store = open_store(caller.host(), ready)?;
    let watch = start_audit(caller, ready)?;
    let session = EngineSession::new(SessionParts {
        store,
        clock: caller.host().clock(),
        root: ready.workspace.root.clone(),
        host: caller.host().vars(),
        pass: ready.config.env_pass.clone(),
        log_limit: ready.config.logs.max_bytes,
        executor: hands,
        around: sandbox_factory(
            caller.host(),
            &ready.config.sandbox,
            &ready.workspace,
            control_files(ready)?,
        ),
        approvers: SigningRules::of(caller, &ready.workspace)?.approvers,
        reuses: !ready.options.no_cache,
        stays,
        bus: watch.bus.clone(),
        observer,
    });
    Ok(AuditedSession { session, watch })
}

/// Opens the state of a workspace for writing.
pub fn open_store(host: &Host, ready: &LoadedPlan) -> Result<Store, CommandError> {
    let (state, clock) = (&ready.workspace.state, host.clock());
    let lease = host.lease()?;
    Ok(Store::open_with_lease(state, durability(ready), clock, lease)?)
}

/// Returns the files of the workspace that control wf: its configuration, what it may take from the
/// workspace by a known name, the texts of a plan, and the repositories in it.
fn control_files(ready: &LoadedPlan) -> Result<Vec<String>, CommandError> {
    let known = [CONFIG, APPROVERS, LOCK, GATES, REPOSITORY].into_iter();
    let known = known.chain(FOLDERS).map(str::to_owned);
    let texts = ready.sources.iter().map(|(name, _)| name.clone());
    let mut files: Vec<String> = known.chain(texts).collect();
    files.extend(nested_repositories(ready)?);
    files.retain(|file| Path::new(file).is_relative());
    files.sort();
    files.dedup();
    Ok(files)
}

/// Returns the repositories below the workspace, where a step may write a folder that could contain
/// one. A repository that a step creates later is its own.
fn nested_repositories(ready: &LoadedPlan) -> Result<Vec<String>, CommandError> {
    let plans = family(&ready.plan).into_iter();
    let steps = plans.flat_map(|plan| plan.steps());
    let mut ways =
        steps.flat_map(|step| (0..step.alternative_count()).filter_map(|way| step.with_alternative(way)));
    if !ways.any(|way| way.allow.as_ref().is_some_and(|allow| !allow.write.is_empty())) {
        return Ok(Vec::new());
    }
    let apart = ExcludedFiles::new([ready.workspace.state.as_path()]);
    let files = WorkspaceManifest::of_workspace(&ready.workspace.root, &apart);
    let files = files.map_err(|unable| CommandError::new(CliExitCode::Usage, unable.reason))?;
    let found = files.named(OsStr::new(REPOSITORY)).into_iter();
    let found = found.map(|path| {
        path.into_os_string().into_string().map_err(|path| {
            let shown = path.display();
            CommandError::new(
                CliExitCode::Usage,
                format!("the path of the repository `{shown}` is not UTF-8"),
            )
            .hint("rename its directory: wf cannot protect it from steps that may write there")
        })
    });
    found.collect()
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
    };
    config.on.then(|| Arc::new(around()))
}

/// Returns the durability of the record of a run: as the run was started with, else as configured.
fn durability(ready: &LoadedPlan) -> StoreDurability {
    ready.options.durability.unwrap_or(match ready.config.durability {
        config::DurabilitySetting::Full => StoreDurability::Full,
        config::DurabilitySetting::Normal => StoreDurability::Normal,
    })
}

fn observer(ui: &Ui, ready: &LoadedPlan, telling: &OutputArgs) -> Box<dyn RunObserver + Send> {
    let mut all = CombinedObserver::default();
    let next = ResumeOptions::of(&ready.path, ready.options.part.is_some());
    let board = RunTracker::for_run(next, ready.options.prior_work);
    let board = board.without_sandbox(!ready.config.sandbox.on);
    if telling.json {
        all.add(JsonEventWriter::new(std::io::stdout()));
    } else if is_live(ui) {
        let Terminal { width, height, .. } = ui.terminal;
        let screen = TerminalInfo { width, height, color: ui.colors(), steps: ready.plan.steps().len() };
        all.add(LiveView::new(std::io::stdout(), screen, ui.volume, board, ui.host.clock()));
    } else {
        all.add(PlainPrinter::new(ui.out(), ui.volume, board));
    }
    if ui.host.in_actions() {
        let sites = ready.sites.clone();
        all.add(GithubAnnotator::new(std::io::stderr(), ready.path.clone(), sites));
    }
    Box::new(all)
}

fn is_live(ui: &Ui) -> bool {
    let watched = ui.terminal.is_output && ui.volume != Verbosity::Quiet;
    watched && ui.host.var("CI").is_none() && ui.host.var("TERM") != Some("dumb")
}

/// Writes the requested reports about a run that ended, and returns its exit code.
pub fn finish(
    ui: &Ui,
    ready: &LoadedPlan,
    session: &EngineSession,
    finished: Result<FinishedRun, EngineError>,
    telling: &OutputArgs,
) -> Result<CliExitCode, CommandError> {
    let finished = match finished {
        Err(EngineError::Parked { run, questions }) => {
            report_waiting(ui, &ready.workspace.state, &run, &questions)?;
            return Ok(CliExitCode::Waiting);
        }
        other => other?,
    };
    let wants_summary = ui.host.in_actions() && ui.host.var("GITHUB_STEP_SUMMARY").is_some();
    if telling.junit.is_some() || telling.report.is_some() || wants_summary {
        let reader = StoreReader::open(&ready.workspace.state)?;
        let folder = StateFolder::new(&ready.workspace.state);
        write_reports(ui, &load_record(&reader, &finished.run)?, &folder, telling)?;
    }
    match finished.outcome {
        // A reader that went away is no failure; events that could not be written are one.
        RunOutcome::Succeeded => match session.report_error() {
            Some(error) => Err(error.into()),
            None if finished.accepted.is_some() => Ok(CliExitCode::Accepted),
            None => Ok(CliExitCode::Ok),
        },
        RunOutcome::Failed | RunOutcome::Abandoned => Ok(CliExitCode::RunFailed),
        RunOutcome::Cancelled => Ok(CliExitCode::Interrupted),
    }
}

/// True if another run took the use of an approval that was counted as the next, and uses remain:
/// nothing was started, and counting again may find one.
pub fn lost_use_race(finished: &Result<FinishedRun, EngineError>) -> bool {
    let Err(EngineError::Store(StoreError::UsedUp { execution, executions })) = finished else {
        return false;
    };
    execution < executions
}

/// Prints what a run waits for, and what to do about it.
fn report_waiting(
    caller: &dyn Caller,
    state: &Path,
    top: &RunId,
    questions: &[SuspendedRequest],
) -> Result<(), CommandError> {
    let (hint, short) = (paint(NAME, "hint:"), top.short());
    let names = approval_requests(&StoreReader::open(state)?, top)?;
    for SuspendedRequest { run, ask } in questions {
        let time = wf_base::time::format_duration(ask.expires.since(ask.since));
        let own = |posed: &&RunApprovalRequest| posed.run == run.id && posed.request.request == ask.request;
        let name = match names.iter().find(own).map(RunApprovalRequest::name).as_deref() {
            None | Some("run") => format!("run {short}"),
            Some(path) => format!("`{path}` of run {short}"),
        };
        let message = &ask.message;
        caller.message_line(&format!("{name} waits for approval (expires in {time}): {message}"));
    }
    let step = if questions.len() > 1 { " STEP" } else { "" };
    caller.message_line(&format!(
        "{hint} wf approve {short}{step}, or wf deny {short}{step} --reason WHY; then wf resume {short}"
    ));
    Ok(())
}

/// Deletes the runs that the configuration retains no longer. The outcome of the run stands, even
/// if this fails.
pub fn prune(caller: &dyn Caller, session: &AuditedSession, ready: &LoadedPlan) {
    let keep = RunRetention {
        max_age: ready.config.retention.max_age,
        max_runs: ready.config.retention.max_runs.map(|runs| runs as usize),
    };
    let wanted = keep.max_age.is_some() || keep.max_runs.is_some();
    if !wanted {
        return;
    }
    match session.store.prune(keep, caller.host().now()) {
        Ok(pruned) if pruned.runs > 0 => {
            let runs = pruned.runs as u64;
            let db = pruned.place.map(|place| LogAnchor { seq: place.seq, hash: place.hash });
            session.publish(BusMessage::act(caller.host().now(), WorkspaceAction::Pruned { runs, db }));
        }
        Ok(_) => {}
        Err(error) => report_prune_failure(caller, &error),
    }
}

fn report_prune_failure(caller: &dyn Caller, error: &StoreError) {
    let (warning, hint) = (paint(WARN, "warning:"), paint(NAME, "hint:"));
    let remedy = error.remedy();
    caller.message(&format!("{warning} cannot delete old runs: {error}\n{hint} {remedy}\n"));
}

fn write_reports(
    ui: &Ui,
    record: &RunRecord,
    folder: &StateFolder,
    telling: &OutputArgs,
) -> Result<(), CommandError> {
    if let Some(path) = &telling.junit {
        let printed = |run: &RunId, attempt: &Attempt| {
            log::tail(&log::path(&folder.run(run), attempt), REPORT_LINES).unwrap_or_default()
        };
        write(ui, path, &junit(record, &printed))?;
    }
    if let Some(path) = &telling.report {
        write(ui, path, &record.json())?;
    }
    match ui.host.var("GITHUB_STEP_SUMMARY") {
        Some(path) if ui.host.in_actions() => append(path.as_ref(), &summary(record)),
        _ => Ok(()),
    }
}

fn write(ui: &Ui, path: &Path, text: &str) -> Result<(), CommandError> {
    let path = normalize_path(&ui.host.cwd().join(path));
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(&path, text)).map_err(|error| {
        let shown = relative_path(&path, ui.host.cwd());
        CommandError::new(CliExitCode::Usage, format!("cannot write the report {shown}: {error}"))
    })
}

fn append(path: &Path, text: &str) -> Result<(), CommandError> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        CommandError::new(CliExitCode::Usage, format!("cannot write the step summary: {error}"))
    })
}
