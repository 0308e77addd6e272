use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::{
    Ui,
    approve::ApprovalArgs,
    cassette::CassetteArgs,
    execute::{OutputArgs, start_run},
    params,
};
use wf_app::{
    CliExitCode, CommandError, RunOptions,
    approve::check_approved_in_advance,
    backend::{backend_program, on_backend},
    load,
    load::LoadedPlan,
    normalize_path,
    plan_start::{plan_digest, require_same_plan},
    plans, relative_path,
    run_start::RunStart,
    run_worktree::RunWorktree,
    sessions::active_session,
    watch,
};
use wf_base::name::{RunId, SessionName};
use wf_report::Forecast;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf run workflows/nightly.md -p day=2026-11-21
  wf run nightly                     by its id, anywhere in the workspace
  wf run plan.md --dry-run           show what would run, in which order, without running it
  wf run plan.md --junit out/wf.xml  for a CI server
  wf run plan.md --print total       print an output of the plan, for total=$(wf run …)
  wf run plan.md --json              print each event as a line of JSON
  wf run plan.md --record tape       record what models reply
  wf run plan.md --replay tape       run again with these replies, without any model

The first Ctrl-C cancels the run: its steps receive SIGTERM and its `finally` steps run. The
second one kills the remaining processes.")]
pub struct RunArgs {
    /// Plan, by its file or its id (`wf list` lists both)
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    #[command(flatten)]
    pub params: params::ParamArgs,
    /// Show what would run, and touch nothing
    #[arg(long, conflicts_with_all = ["junit", "report", "record", "replay", "print"])]
    dry_run: bool,
    #[command(flatten)]
    pub approval: ApprovalArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    cassette: CassetteArgs,
    /// Maximum number of concurrent steps, overriding the plan
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// Run what is committed, in a worktree beside the workspace, and bring its products back
    #[arg(long, conflicts_with_all = ["dry_run", "on"])]
    worktree: bool,
    /// Run every step even if the cache has a result; new results are cached
    #[arg(long)]
    no_cache: bool,
    /// Session that the run belongs to, instead of the current one
    #[arg(long, value_name = "NAME")]
    session: Option<SessionName>,
    /// Backend that executes the run, as named in wf.yaml, instead of this machine
    #[arg(long, value_name = "BACKEND", conflicts_with_all = ["record", "replay", "session"])]
    on: Option<String>,
    /// Durability of the record of the run, overriding wf.yaml
    #[arg(long, value_name = "HOW")]
    durability: Option<DurabilityArg>,
    /// The id of the run: that of the request of a page
    #[arg(long, hide = true, value_parser = parse_run)]
    requested_run: Option<RunId>,
    /// The digest of the plan that the request is for
    #[arg(long, hide = true, requires = "requested_run")]
    plan_digest: Option<String>,
}

/// The durability of the record of a run.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum DurabilityArg {
    /// Survives power loss
    Full,
    /// Survives a crash of wf; power loss may take the last moments
    Normal,
}

/// Runs a plan. A refusal to start it is recorded, too.
pub fn run(ui: &Ui, args: &RunArgs) -> Result<CliExitCode, CommandError> {
    let result = start(ui, args);
    if let Err(error) = &result
        && !args.dry_run
        && matches!(error.exit, CliExitCode::Usage | CliExitCode::Invalid | CliExitCode::Approval)
    {
        watch::record_refusal(&ui.host, &args.plan, error);
    }
    result
}

fn start(ui: &Ui, args: &RunArgs) -> Result<CliExitCode, CommandError> {
    loop {
        if let Some(exit) = try_start(ui, args)? {
            return Ok(exit);
        }
    }
}

/// Starts a run; `None` if another run took the next use of the approval.
fn try_start(ui: &Ui, args: &RunArgs) -> Result<Option<CliExitCode>, CommandError> {
    let run_options = RunOptions { no_cache: args.no_cache, ..RunOptions::at_present(&ui.host, args.jobs) };
    let options = match args.durability {
        Some(durability) => run_options.with_durability(matches!(durability, DurabilityArg::Full)),
        None => run_options,
    };
    if !args.worktree {
        let loaded = load::load_named(ui, &args.plan, options)?;
        return start_loaded(ui, args, loaded);
    }
    let worktree = worktree_of(ui, &args.plan)?;
    let loaded = load_committed(ui, args, options, &worktree);
    let started = loaded.and_then(|loaded| start_loaded(ui, args, loaded));
    if !matches!(started, Ok(Some(_))) && worktree.is_clean(&ui.host) {
        worktree.remove();
    }
    started
}

/// Makes the worktree of a run of a plan.
fn worktree_of(ui: &Ui, plan: &Path) -> Result<RunWorktree, CommandError> {
    let file = plan_file(ui, plan)?;
    let folder = file.parent().filter(|_| file.is_file()).unwrap_or(ui.host.cwd());
    RunWorktree::make(&ui.host, ui.host.workspace_of(folder))
}

/// Returns the file of a plan by its path or its id; another name has no file.
fn plan_file(ui: &Ui, plan: &Path) -> Result<PathBuf, CommandError> {
    let file = normalize_path(&ui.host.cwd().join(plan));
    if file.is_file() {
        return Ok(file);
    }
    Ok(plans::find_by_id(&ui.host, plan.as_os_str())?.unwrap_or(file))
}

/// Loads a plan as it is committed.
fn load_committed(
    ui: &Ui,
    args: &RunArgs,
    options: RunOptions,
    worktree: &RunWorktree,
) -> Result<LoadedPlan, CommandError> {
    let mut inner = ui.clone();
    inner.host = worktree.host(&ui.host);
    let file = plan_file(ui, &args.plan)?;
    let plan = if file.is_file() { worktree.place(&file) } else { args.plan.clone() };
    if file.is_file() && !plan.is_file() {
        let message = format!("{} is not committed, and `--worktree` runs what is", args.plan.display());
        return Err(
            CommandError::new(CliExitCode::Usage, message).hint("commit it, or leave `--worktree` out")
        );
    }
    let loaded = load::load_named(&inner, &plan, options)?;
    ui.print_info_line(&format!("runs in {}", relative_path(worktree.folder(), ui.host.cwd())));
    Ok(LoadedPlan { worktree: Some(worktree.clone()), ..loaded })
}

/// Reads the whole id of a run.
fn parse_run(text: &str) -> Result<RunId, String> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() == 32 && text.bytes().all(is_digit) {
        return Ok(RunId::from_stored(text));
    }
    Err("the id of a run has 32 hexadecimal digits".to_owned())
}

/// Starts a run of a loaded plan.
fn start_loaded(ui: &Ui, args: &RunArgs, loaded: LoadedPlan) -> Result<Option<CliExitCode>, CommandError> {
    if let Some(digest) = &args.plan_digest {
        require_same_plan(plan_digest(&loaded), digest)?;
    }
    args.output.print.check(&loaded.plan)?;
    let params = params::resolve(ui, loaded.plan.parts(), &args.params)?;
    if args.dry_run {
        let forecast = Forecast::from_plan(&loaded.plan, &loaded.path, params.clone());
        if args.output.json {
            ui.print_json(&forecast.json())?;
        } else {
            ui.print(&forecast.render())?;
        }
        check_approved_in_advance(ui, &loaded, &params, &args.approval.demand())?;
        return Ok(Some(CliExitCode::Ok));
    }
    let backend = args.on.as_deref().map(|name| backend_program(&ui.host, &loaded, name)).transpose()?;
    let belongs_to = active_session(&loaded.workspace.state, args.session.as_ref())?;
    let config = loaded.options.write_to(serde_json::Value::Null);
    let config = match &loaded.worktree {
        Some(worktree) => worktree.write_to(config),
        None => config,
    };
    let config = match &backend {
        Some(backend) => on_backend(config, &backend.name),
        None => config,
    };
    let state = loaded.workspace.state.clone();
    let requested_run = args.requested_run.clone();
    let start = RunStart { loaded, params, session: belongs_to, config, backend, requested_run };
    let exit = start_run(ui, start, "", &args.approval, &args.output, &args.cassette)?;
    if exit.is_some() {
        print_record_location(ui, &state);
    }
    Ok(exit)
}

/// Prints the location of the record, if the commands shown would not find it from here.
fn print_record_location(ui: &Ui, state: &Path) {
    if *state != ui.host.workspace().state {
        let shown = relative_path(state, ui.host.cwd());
        ui.print_info_line(&format!("the state is in {shown}: pass --state {shown} to use it"));
    }
}
