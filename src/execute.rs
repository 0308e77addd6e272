use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use clap::Args;

use super::{Terminal, Ui};
use crate::{approve::ApprovalArgs, cassette::CassetteArgs, printed::PrintArgs};
use wf_app::{
    Caller, CliExitCode, CommandError, Workspace,
    approve::{RunApprovalRequest, recorded_requests},
    git::place_in_repository,
    goals::wake_daemon,
    load::LoadedPlan,
    normalize_path,
    records::{LogTails, record_of_run, recorded_params},
    relative_path,
    run_start::{ExecutedRun, RunStart},
    run_worktree::{BroughtProducts, RunWorktree},
    session::{open_run_session, prune},
    trace::{is_traced, send_trace},
    views::{StateReader, usual_duration},
    watch::AuditedSession,
};
use wf_base::{
    name::RunId,
    untrusted::{NAME, WARN, paint},
};
use wf_core::{
    goal::ReconciliationPart,
    machine::{Attempt, RunOutcome},
    observe::RunObserver,
};
use wf_engine::{EngineError, EngineSession, FinishedRun, SuspendedRequest};
use wf_report::{
    follow::{
        CombinedObserver, GithubAnnotator, JsonEventWriter, LiveView, PlainPrinter, ResumeOptions,
        RunTracker, TerminalInfo, Verbosity,
    },
    record::{RunRecord, junit, summary},
};

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
    #[command(flatten)]
    pub print: PrintArgs,
    /// Block until approvals are answered instead of exiting with code 5
    #[arg(long)]
    pub wait: bool,
}

/// Opens the needs of a run.
pub fn session(ui: &Ui, loaded: &LoadedPlan, output: &OutputArgs) -> Result<AuditedSession, CommandError> {
    open_run_session(ui, loaded, output.wait, observer(ui, loaded, output))
}

/// Starts a run, follows it and reports it; `None` if another run took the next use of the approval. The announcement is
/// printed once the run may start.
pub fn start_run(
    ui: &Ui,
    start: RunStart,
    announcement: &str,
    approval: &ApprovalArgs,
    output: &OutputArgs,
    cassette: &CassetteArgs,
) -> Result<Option<CliExitCode>, CommandError> {
    output.print.check(&start.loaded.plan)?;
    let open = |loaded: &LoadedPlan| {
        let session = session(ui, loaded, output)?;
        ui.print_info(announcement);
        cassette.apply_to_new_run(ui, &session).map(|()| session)
    };
    let Some(ExecutedRun { loaded, session, finished }) = start.execute(ui, &approval.demand(), open)? else {
        return Ok(None);
    };
    if let Ok(finished) = &finished {
        cassette.complete(ui, &loaded, &finished.run)?;
    }
    let exit = finish(ui, &loaded, &session, finished, output)?;
    prune(ui, &session, &loaded);
    Ok(Some(exit))
}

/// The listeners of the user to a run.
pub fn observer(ui: &Ui, loaded: &LoadedPlan, output: &OutputArgs) -> Box<dyn RunObserver + Send> {
    let mut observer = CombinedObserver::default();
    let is_job = loaded.goal.as_ref().is_some_and(|goal_plan| goal_plan.goal.is_job);
    if is_job && loaded.options.part == Some(ReconciliationPart::Look) && !output.json {
        // Its check run has no checks, and only takes up the slot.
        return Box::new(observer);
    }
    let next = ResumeOptions::from_path(&loaded.path, loaded.options.part.is_some());
    let board = RunTracker::for_run(next, loaded.options.prior_work);
    let board = board.without_sandbox(!loaded.config.sandbox.on);
    if output.json {
        observer.add(JsonEventWriter::new(std::io::stdout()));
    } else if output.print.is_given() {
        observer.add(PlainPrinter::new(ui.err(), ui.verbosity, board));
    } else if is_live(ui) {
        let Terminal { width, height, .. } = ui.terminal;
        // An estimate is a favour: without a state there is none.
        let reader = StateReader::open_if_any(&loaded.workspace).ok().flatten();
        let usual = reader.and_then(|reader| usual_duration(&reader, loaded.plan.id()).ok().flatten());
        let steps = loaded.plan.steps().len();
        let screen = TerminalInfo { width, height, color: ui.colors(), steps, usual };
        observer.add(LiveView::new(std::io::stdout(), screen, ui.verbosity, board, ui.host.clock()));
    } else {
        observer.add(PlainPrinter::new(ui.out(), ui.verbosity, board));
    }
    if ui.host.in_actions() {
        let sites = loaded.sites.clone();
        observer.add(GithubAnnotator::new(
            std::io::stderr(),
            place_in_repository(&loaded.workspace.root),
            loaded.path.clone(),
            sites,
        ));
    }
    Box::new(observer)
}

fn is_live(ui: &Ui) -> bool {
    let watched = ui.terminal.is_output && ui.verbosity != Verbosity::Quiet;
    watched && !ui.host.in_ci() && ui.host.var("TERM") != Some("dumb")
}

/// Writes the requested reports about an ended run, and returns its exit code.
pub fn finish(
    ui: &Ui,
    loaded: &LoadedPlan,
    session: &EngineSession,
    finished: Result<FinishedRun, EngineError>,
    output: &OutputArgs,
) -> Result<CliExitCode, CommandError> {
    let finished = match finished {
        Err(EngineError::Parked { run, requests: questions }) => {
            report_waiting(ui, &loaded.workspace, &run, &questions)?;
            // The time of its requests may be over before anybody answers.
            wake_daemon(&loaded.workspace.state);
            return Ok(CliExitCode::Waiting);
        }
        other => other?,
    };
    for note in session.take_notes() {
        ui.print_message(&format!("{} {note}\n", paint(WARN, "warning:")));
    }
    if let Some(worktree) = &loaded.worktree {
        let is_done = finished.outcome == RunOutcome::Succeeded;
        settle_worktree(ui, worktree, loaded, is_done.then_some(&finished.run))?;
    }
    let wants_summary = ui.host.in_actions() && ui.host.var("GITHUB_STEP_SUMMARY").is_some();
    if output.junit.is_some() || output.report.is_some() || wants_summary {
        let record = record_of_run(&loaded.workspace, &finished.run)?;
        write_reports(ui, &record, &LogTails::of_workspace(&loaded.workspace), output)?;
    }
    if is_traced(&ui.host) {
        let record = record_of_run(&loaded.workspace, &finished.run)?;
        if let Err(error) = send_trace(&ui.host, &record) {
            ui.print_message(&format!("{} {}\n", paint(WARN, "warning:"), ui.failure_text(&error)));
        }
    }
    output.print.print(ui, &finished.outputs)?;
    match finished.outcome {
        // A reader that went away is no failure; events that could not be written are one.
        RunOutcome::Succeeded => match session.report_error() {
            Some(error) => Err(error.into()),
            None if finished.accepted_criteria.is_some() => Ok(CliExitCode::Accepted),
            None => Ok(CliExitCode::Ok),
        },
        RunOutcome::Failed | RunOutcome::Abandoned => Ok(CliExitCode::RunFailed),
        RunOutcome::Cancelled => Ok(CliExitCode::Interrupted),
    }
}

/// Brings the products of a successful run to the workspace, and removes its worktree. It stays if a product was
/// not brought, and after a failure (`run` is `None`).
pub fn settle_worktree(
    ui: &Ui,
    worktree: &RunWorktree,
    loaded: &LoadedPlan,
    run: Option<&RunId>,
) -> Result<(), CommandError> {
    let place = relative_path(worktree.folder(), ui.host.cwd());
    let Some(run) = run else {
        ui.print_info_line(&format!(
            "its worktree stays for a look: {place} (`git worktree remove --force {place}`)"
        ));
        return Ok(());
    };
    let params = recorded_params(&loaded.workspace, run)?;
    let BroughtProducts { brought, removed, left } = worktree.bring_back(&ui.host, loaded, &params)?;
    for (verb, paths) in [("brought", &brought), ("removed", &removed)] {
        for path in paths {
            ui.print_info_line(&format!("{verb}   {}", path.display()));
        }
    }
    if let Some(commit) = worktree.lost_commit(&ui.host) {
        ui.print_message(&format!(
            "{} no branch has the commit {commit} of the run: keep it with `git branch NAME {commit}`; its worktree stays: \
             {place}\n",
            paint(WARN, "warning:")
        ));
        return Ok(());
    }
    if left.is_empty() {
        worktree.remove();
        return Ok(());
    }
    for path in &left {
        let path = path.display();
        ui.print_message(&format!(
            "{} `{path}` was changed here since that commit: that of the run is in {place}\n",
            paint(WARN, "warning:")
        ));
    }
    Ok(())
}

/// Prints the requests of a waiting run, and the remedies.
fn report_waiting(
    caller: &dyn Caller,
    workspace: &Workspace,
    top: &RunId,
    questions: &[SuspendedRequest],
) -> Result<(), CommandError> {
    let (hint, short) = (paint(NAME, "hint:"), top.short());
    let names = recorded_requests(workspace, top)?;
    for SuspendedRequest { run, request: ask } in questions {
        let time = wf_base::time::format_duration(ask.expires.since(ask.since));
        let own =
            |request: &&RunApprovalRequest| request.run == run.id && request.request.request == ask.request;
        let name = match names.iter().find(own).map(RunApprovalRequest::name).as_deref() {
            None | Some("run") => format!("run {short}"),
            Some(path) => format!("`{path}` of run {short}"),
        };
        let message = &ask.message;
        let expected = if ask.is_question() { "an answer" } else { "approval" };
        caller.message_line(&format!("{name} waits for {expected} (expires in {time}): {message}"));
    }
    let step = if questions.len() > 1 { " STEP" } else { "" };
    let asks = questions.iter().all(|question| question.request.is_question());
    let yes = if asks {
        format!("wf answer {short}{step} --text TEXT")
    } else {
        format!("wf approve {short}{step}")
    };
    caller.message_line(&format!(
        "{hint} {yes}, or wf deny {short}{step} --reason WHY; then wf resume {short}"
    ));
    Ok(())
}

fn write_reports(
    ui: &Ui,
    record: &RunRecord,
    tails: &LogTails,
    output: &OutputArgs,
) -> Result<(), CommandError> {
    if let Some(path) = &output.junit {
        let printed = |run: &RunId, attempt: &Attempt| tails.last_lines(run, attempt, REPORT_LINES);
        write(ui, path, &junit(record, &printed))?;
    }
    if let Some(path) = &output.report {
        write(ui, path, &record.json())?;
    }
    match ui.host.var("GITHUB_STEP_SUMMARY") {
        Some(path) if ui.host.in_actions() => append(path.as_ref(), &summary(record)),
        _ => Ok(()),
    }
}

fn write(ui: &Ui, path: &Path, text: &str) -> Result<(), CommandError> {
    let path = normalize_path(&ui.host.cwd().join(path));
    let created = path.parent().map_or(Ok(()), fs::create_dir_all);
    created.and_then(|()| fs::write(&path, text)).map_err(|error| {
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
