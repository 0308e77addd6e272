use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::approve::{ApprovalArgs, enter};
use crate::cli::execute::{Telling, finish, outrun, prune, session};
use crate::cli::load::Ready;
use crate::cli::{Begun, Exit, Failure, Ui, load, params, relative, watch};
use crate::engine::{self, Request};
use crate::report::Forecast;
use crate::store::Durability;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf run workflows/nightly.md -p day=2026-11-21
  wf run nightly                     by its id, wherever in the workspace its file is
  wf run plan.md --dry-run           what would run, in which order; touches nothing
  wf run plan.md --junit out/wf.xml  for a CI server
  wf run plan.md --json              every event as a line of JSON

Interrupted once (Ctrl-C), the run is cancelled: its steps are asked to end and its `finally`
steps run. Interrupted again, what is left is killed.")]
pub struct RunArgs {
    /// The plan, by its file or its id: `wf list` lists both
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    #[command(flatten)]
    params: params::ParamArgs,
    /// Show what would run, and touch nothing
    #[arg(long, conflicts_with_all = ["junit", "report"])]
    dry_run: bool,
    #[command(flatten)]
    approval: ApprovalArgs,
    #[command(flatten)]
    telling: Telling,
    /// How many steps run at once, instead of what the plan says
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// Run every step, also where the cache has a result; what they give is kept in it
    #[arg(long)]
    no_cache: bool,
    /// What the record of the run survives, instead of what wf.yaml says
    #[arg(long, value_name = "HOW")]
    durability: Option<Survives>,
}

/// What the record of a run survives.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Survives {
    /// A loss of power
    Full,
    /// The death of wf; a loss of power may take the last moments
    Normal,
}

impl From<Survives> for Durability {
    fn from(survives: Survives) -> Self {
        match survives {
            Survives::Full => Self::Full,
            Survives::Normal => Self::Normal,
        }
    }
}

/// Runs a plan. That one was not begun is written down, too.
pub fn run(ui: &Ui, args: &RunArgs) -> Result<Exit, Failure> {
    let done = begin(ui, args);
    if let Err(failure) = &done
        && !args.dry_run
        && matches!(failure.exit, Exit::Usage | Exit::Invalid | Exit::Approval)
    {
        watch::refused(ui, &args.plan, failure);
    }
    done
}

fn begin(ui: &Ui, args: &RunArgs) -> Result<Exit, Failure> {
    loop {
        if let Some(exit) = try_begin(ui, args)? {
            return Ok(exit);
        }
    }
}

/// Begins a run; `None` if another took the use of the approval that was the next.
fn try_begin(ui: &Ui, args: &RunArgs) -> Result<Option<Exit>, Failure> {
    let begun = Begun {
        durability: args.durability.map(Durability::from),
        no_cache: args.no_cache,
        ..Begun::now(ui, args.jobs)
    };
    let ready = load::plan(ui, &args.plan, begun)?;
    let params = params::resolve(ui, ready.plan.parts(), &args.params)?;
    if args.dry_run {
        let forecast = Forecast::of(&ready.plan, &ready.path, params);
        if args.telling.json {
            ui.print_json(&forecast.json())?;
        } else {
            ui.print(&forecast.render())?;
        }
        return Ok(Some(Exit::Ok));
    }
    let run = ui.env.new_run()?;
    let entered = enter(ui, &ready, (&run, &params), &args.approval)?;
    let session = session(ui, &ready, &args.telling)?;
    let request = Request {
        run,
        plan: ready.plan.clone(),
        path: ready.path.clone(),
        sources: ready
            .sources
            .iter()
            .cloned()
            .chain([entered.token])
            .collect(),
        params,
        past: None,
        approved: Some(entered.approved),
        config: ready.begun.record(serde_json::Value::Null),
        claim: None,
    };
    let finished = engine::run(&session, request);
    if outrun(&finished) {
        return Ok(None);
    }
    let exit = finish(ui, &ready, &session, finished, &args.telling)?;
    prune(ui, &session, &ready);
    say_where(ui, &ready);
    Ok(Some(exit))
}

/// Says where the record is, if the commands shown would not find it from here.
fn say_where(ui: &Ui, ready: &Ready) {
    let state = &ready.workspace.state;
    if *state != ui.workspace().state {
        let shown = relative(state, ui.env.cwd());
        ui.note_line(&format!(
            "the record is in {shown}: name it with --state {shown}"
        ));
    }
}
