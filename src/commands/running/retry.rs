use clap::Args;

use crate::{
    RunArg, Ui,
    approve::ApprovalArgs,
    choose::StepSelectionArgs,
    execute::{OutputArgs, finish, session},
    outlook::{step_list, summary_line},
    params::{self, ParamArgs},
};
use wf_app::{
    CliExitCode, CommandError,
    approve::authorize,
    backend::{backend_program, on_backend},
    load::LoadedPlan,
    retry::{PreparedRetry, RetryDraft},
    revision::tracked_check_files,
    session::{lost_use_race, prune},
    sessions::active_session,
};
use wf_base::name::{RunId, SessionName};
use wf_engine::{self as engine, BackendProgram, GivenSecrets, RunRequest, reuse::RepeatedRun};
use wf_model::JsonObject;

#[derive(Args, Debug)]
#[command(after_help = "\
The new run has the parameters of the old one and reuses the results of its successful steps, also
inside of nested plans. It uses the current files: a step that has changed since, or reads a
changed parameter, runs again, and so do its dependents.

Examples:
  wf retry --last                        run again what did not succeed
  wf retry 1a2b --from build             `build` and its dependents
  wf retry 1a2b --only 'test[eu]'        only one item
  wf retry 1a2b --from nightly/compile   a step inside of the plan used by `nightly`
  wf retry 1a2b -p day=2026-11-02        with a different parameter
  wf retry 1a2b --from build --dry-run   show what would run again and why, without running it
  wf retry 1a2b --on farm                run it on a backend, wherever the old one ran

To continue an interrupted run, use `wf resume`.")]
pub struct RetryArgs {
    #[command(flatten)]
    pub run: RunArg,
    #[command(flatten)]
    selection: StepSelectionArgs,
    #[command(flatten)]
    params: ParamArgs,
    /// Show what would run again and why, and touch nothing
    #[arg(long, conflicts_with_all = ["json", "junit", "report", "print"])]
    dry_run: bool,
    #[command(flatten)]
    approval: ApprovalArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Session that the new run belongs to, instead of that of the old one
    #[arg(long, value_name = "NAME")]
    session: Option<SessionName>,
    /// Backend that executes the new run, as named in wf.yaml, instead of this machine
    #[arg(long, value_name = "BACKEND", conflicts_with = "session")]
    on: Option<String>,
}

/// Runs a plan again.
pub fn run(ui: &Ui, args: &RetryArgs) -> Result<CliExitCode, CommandError> {
    let draft = RetryDraft::open(ui, args.run.prefix())?;
    args.output.print.check(&draft.loaded.plan)?;
    let prepared = draft.prepare(&args.selection.names(), |loaded, old| {
        params::resolve_for_retry(ui, loaded.plan.parts(), &args.params, old)
    })?;
    let PreparedRetry {
        loaded,
        old,
        session,
        params,
        repeated_run,
        preview,
        secrets,
        config,
        backend_before,
    } = prepared;
    if repeated_run.is_done() {
        ui.print_message(&nothing_to_retry(&old));
        return Ok(CliExitCode::Ok);
    }
    if args.dry_run {
        ui.print(&(summary_line(&preview, &old) + &step_list(&preview)))?;
        return Ok(CliExitCode::Ok);
    }
    let backend = args.on.as_deref().map(|name| backend_program(&ui.host, &loaded, name)).transpose()?;
    let config = match &backend {
        Some(backend) => on_backend(config, &backend.name),
        None => config,
    };
    let belongs_to = match args.session.as_ref().or(session.as_ref()) {
        Some(name) => active_session(&loaded.workspace.state, Some(name))?,
        None => None,
    };
    ui.print_info(&summary_line(&preview, &old));
    if let (Some(name), None) = (&backend_before, &args.on) {
        ui.print_info_line(&format!("it runs here; on backend `{name}` with --on {name}"));
    }
    let start = RetryStart { params, session: belongs_to, repeated_run, config, backend };
    loop {
        if let Some(exit) = start_retry(ui, args, &loaded, &secrets, start.clone())? {
            return Ok(exit);
        }
    }
}

/// The values of a new run from the old one and from the command line.
#[derive(Clone)]
struct RetryStart {
    params: JsonObject,
    session: Option<SessionName>,
    repeated_run: RepeatedRun,
    config: serde_json::Value,
    backend: Option<BackendProgram>,
}

/// Starts the new run; `None` if another run took the next use of the approval.
fn start_retry(
    ui: &Ui,
    args: &RetryArgs,
    loaded: &LoadedPlan,
    secrets: &GivenSecrets,
    start: RetryStart,
) -> Result<Option<CliExitCode>, CommandError> {
    let run = ui.host.new_run()?;
    let entered = authorize(ui, loaded, &run, &start.params, &args.approval.demand())?;
    let session = session(ui, loaded, &args.output)?;
    let approved = Some(&entered.approved);
    engine::recover(&session, &loaded.plan, approved, secrets.clone())?;
    let tracked = tracked_check_files(&ui.host, loaded, &start.params);
    let request = RunRequest {
        run,
        plan: loaded.plan.clone(),
        path: loaded.path.clone(),
        sources: loaded.sources.iter().cloned().chain([entered.token]).collect(),
        params: start.params,
        session: start.session,
        repeated_run: Some(start.repeated_run),
        approved: Some(entered.approved),
        config: start.config,
        claim: None,
        begun: None,
        tracked,
    };
    let finished = match &start.backend {
        Some(backend) => engine::run_on(&session, request, backend),
        None => engine::run(&session, request),
    };
    if lost_use_race(&finished) {
        return Ok(None);
    }
    let exit = finish(ui, loaded, &session, finished, &args.output)?;
    prune(ui, &session, loaded);
    Ok(Some(exit))
}

/// The message if there is nothing to run again.
fn nothing_to_retry(run: &RunId) -> String {
    let short = run.short();
    format!(
        "run {short} succeeded and nothing has changed since: nothing to run again\n\
         to run it again anyway: wf retry {short} --all, or --from STEP\n"
    )
}
