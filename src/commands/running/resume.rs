use clap::Args;

use crate::{
    RunArg, Ui,
    cassette::CassetteArgs,
    execute::{OutputArgs, finish, observer, session, settle_worktree},
};
use wf_app::{
    CliExitCode, CommandError,
    backend::RecordedBackendRun,
    goals::wake_daemon,
    resume::{ResumableRun, RunContinuation, owner_of_refused, tidy_ended_runs},
    resumption::{IdleRun, await_run},
    session::open_session,
};
use wf_base::name::RunId;
use wf_core::machine::RunOutcome;
use wf_engine::BackendProgram;

#[derive(Args, Debug)]
#[command(after_help = "\
Finished steps do not run again. A step that was running when the engine died is repeated if it is
`idempotent` or its `retry.on` lists `interrupted`, and fails otherwise. To run again what failed
in a finished run, use `wf retry`.")]
pub struct ResumeArgs {
    #[command(flatten)]
    pub run: RunArg,
    /// Resume only if the wait of the run is answered or over and no process works on it; else exit with 0
    #[arg(long)]
    if_due: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    cassette: CassetteArgs,
}

/// Resumes a run.
pub fn run(ui: &Ui, args: &ResumeArgs) -> Result<CliExitCode, CommandError> {
    let recorded = ResumableRun::find(&ui.host.workspace(), args.run.prefix())?;
    let run = recorded.run.clone();
    if args.if_due && !is_due(ui, &run)? {
        return Ok(CliExitCode::Ok);
    }
    recorded.require_outermost()?;
    if let Some(outcome) = recorded.outcome() {
        return resume_ended(ui, &recorded, outcome);
    }
    let loaded = recorded.load(ui)?;
    if let Some(worktree) = loaded.worktree.as_ref().filter(|worktree| !worktree.folder().exists()) {
        let message = format!("the worktree of run {} is gone: {}", run.short(), worktree.folder().display());
        return Err(CommandError::new(CliExitCode::State, message).hint(format!("wf cancel {}", run.short())));
    }
    args.output.print.check(&loaded.plan)?;
    let RunContinuation { repeated_run, secrets, approval, backend_run } = recorded.resume(ui, &loaded)?;
    let session = session(ui, &loaded, &args.output)?;
    let finished = if let Some(RecordedBackendRun { request, backend }) = backend_run {
        wf_engine::run_on(&session, request, &backend)
    } else {
        args.cassette.apply_to_resumed_run(ui, &session)?;
        wf_engine::recover(&session, &loaded.plan, approval.as_ref(), secrets)?;
        let finished = wf_engine::resume(&session, &run, loaded.plan.clone(), repeated_run);
        if finished.is_ok() {
            args.cassette.complete(ui, &loaded, &run)?;
        }
        finished
    };
    if args.if_due
        && let Some(owner) = owner_of_refused(&finished)
    {
        ui.print_info(&format!("run {} is resumed by {owner}\n", run.short()));
        return Ok(CliExitCode::Ok);
    }
    let exit = finish(ui, &loaded, &session, finished, &args.output);
    // If it is a run of a goal, a daemon concludes its reconciliation.
    wake_daemon(&loaded.workspace.state);
    exit
}

/// Brings the products of an ended run left by a dead engine; otherwise names the remedy.
fn resume_ended(ui: &Ui, run: &ResumableRun, outcome: RunOutcome) -> Result<CliExitCode, CommandError> {
    // Its engine may have died just after the end.
    tidy_ended_runs(&ui.host.workspace())?;
    if outcome == RunOutcome::Succeeded {
        let loaded = run.load(ui)?;
        if let Some(worktree) = loaded.worktree.as_ref().filter(|worktree| worktree.folder().exists()) {
            settle_worktree(ui, worktree, &loaded, Some(&run.run))?;
            return Ok(CliExitCode::Ok);
        }
    }
    Err(run.already_ended(outcome))
}

/// Resumes a run, and prints it as `wf resume` does without further options.
pub fn resume_run(ui: &Ui, id: &RunId) -> Result<CliExitCode, CommandError> {
    let run = RunArg::by_name(id.as_str());
    let output = OutputArgs::default();
    self::run(ui, &ResumeArgs { run, if_due: false, output, cassette: CassetteArgs::default() })
}

/// Resumes a run in the same way once it is due, unless somebody else does, or a person is to.
pub fn resume_due_run(ui: &Ui, id: &RunId) -> Result<CliExitCode, CommandError> {
    let run = RunArg::by_name(id.as_str());
    let output = OutputArgs::default();
    self::run(ui, &ResumeArgs { run, if_due: true, output, cassette: CassetteArgs::default() })
}

/// True if a run is to be resumed here; otherwise says why not.
fn is_due(ui: &Ui, run: &RunId) -> Result<bool, CommandError> {
    let short = run.short();
    match await_run(ui, run)? {
        IdleRun::Due => return Ok(true),
        IdleRun::Manual => ui.print_info_line(&format!(
            "run {short} is resumed by a person, as its plan says (`resume: manual`): wf resume {short}"
        )),
        IdleRun::Left(reason) => ui.print_info_line(&reason),
    }
    Ok(false)
}

/// Concludes a cancelled run without an engine.
pub fn cancel_dead(ui: &Ui, run: &RunId) -> Result<CliExitCode, CommandError> {
    let recorded = ResumableRun::find(&ui.host.workspace(), Some(run.as_str()))?;
    let loaded = recorded.load(ui)?;
    let RunContinuation { secrets: given, approval, backend_run, .. } = recorded.cancel(ui, &loaded)?;
    let output = OutputArgs::default();
    // Not refused without a container engine: the end must be reached.
    let session = open_session(ui, &loaded, output.wait, observer(ui, &loaded, &output))?;
    if let Some(RecordedBackendRun { request, backend }) = backend_run {
        wf_engine::run_on(&session, request, &BackendProgram { cancels: true, ..backend })?;
        return Ok(CliExitCode::Ok);
    }
    wf_engine::recover(&session, &loaded.plan, approval.as_ref(), given)?;
    wf_engine::cancel(&session, run, loaded.plan.clone())?;
    wake_daemon(&loaded.workspace.state);
    Ok(CliExitCode::Ok)
}
