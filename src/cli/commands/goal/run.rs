use clap::{Args, ValueEnum};

use super::accept;
use crate::cli::approve::waits;
use crate::cli::execute::Telling;
use crate::cli::goals::{self, Begin, Ended, Where, adopt, begin, named, poke, tell};
use crate::cli::{Exit, Failure, Revision, RunArg, Ui, load};
use crate::goal::{Cause, Health, Part};
use crate::report::{BAD, BOLD, GOOD, WARN, paint};
use crate::store::Reader;
use crate::time::Moment;

/// Run a cycle of a goal now: look, and repair what does not hold
#[derive(Args, Debug)]
#[command(after_help = "\
A cycle begins with a look: the checks of the goal alone. If one does not hold and the goal says
`on_failure: spawn_plan`, it is repaired within what `wf approve GOAL` signed, and checked again.

The exit code is 0 if the state is as desired at the end, 1 if it is not or nobody knows, 5 if a
repair waits for an approval.")]
pub struct RunArgs {
    /// The goal: its id, or its file
    #[arg(value_name = "GOAL", required_unless_present = "cycle")]
    goal: Option<String>,
    /// Write every event as a line of JSON
    #[arg(long)]
    json: bool,
    /// Run the goal as it is in this commit
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
    /// The slot that it is run for, which must be due
    #[arg(long, value_name = "INSTANT", hide = true, value_parser = moment)]
    slot: Option<Moment>,
    /// What the slot is run for
    #[arg(long, hide = true, requires = "slot")]
    cause: Option<CauseArg>,
    /// The token of the daemon that decided about the slot
    #[arg(long, hide = true, requires = "slot")]
    token: Option<u64>,
    /// Go on with a cycle whose process died, by its first run
    #[arg(long, value_name = "RUN", hide = true, conflicts_with_all = ["slot", "commit"])]
    cycle: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum CauseArg {
    Schedule,
    CatchUp,
    Backfill,
}

fn moment(text: &str) -> Result<Moment, String> {
    Moment::parse(text).map_err(|bad| bad.to_string())
}

/// Runs a cycle.
pub fn run(ui: &Ui, args: &RunArgs) -> Result<Exit, Failure> {
    let telling = Telling {
        json: args.json,
        ..Telling::default()
    };
    let workspace = ui.workspace();
    let ended = if let Some(run) = &args.cycle {
        let reader = Reader::open(&workspace.state)?;
        let run = RunArg::of(run).resolve(&reader)?;
        drop(reader);
        adopt(ui, &run, &telling)?
    } else {
        cycle(ui, args, &telling)?
    };
    say(ui, &ended);
    tell(ui)?;
    // A daemon sees the end of what it began.
    if args.token.is_none() && args.cycle.is_none() {
        poke(&workspace.state);
    }
    Ok(exit(ended.verdict.health))
}

fn cycle(ui: &Ui, args: &RunArgs, telling: &Telling) -> Result<Ended, Failure> {
    let workspace = ui.workspace();
    let place = match &args.commit {
        None => Where::Disk,
        Some(commit) => Where::Commit(Revision::of(&workspace, commit)?),
    };
    let name = args.goal.as_deref().unwrap_or_default();
    let path = named(ui, &workspace, &place, name)?;
    let files = place.files(&workspace);
    let lies_there = args.commit.is_none();
    // Whoever starts it by hand shows by that what they want; only a person can have seen it.
    if lies_there && args.slot.is_none() && ui.env.asks {
        accept::by_run(ui, &path)?;
    }
    let (ready, goal) = load::goal(ui, &*files, (workspace.clone(), &path), Part::Look)?;
    let ask = Begin {
        slot: args.slot,
        cause: args.slot.map_or(Cause::Person, |_| cause(args.cause)),
        token: args.token,
    };
    let waits = match args.slot.filter(|_| lies_there) {
        Some(_) => waits(ui, &ready)?,
        None => None,
    };
    let begun = match waits {
        Some(waits) => Err(Failure::new(Exit::Approval, format!("{path} {waits}"))),
        None => begin(ui, (&ready, &goal), ask, telling),
    };
    begun.map_err(|failure| goals::not_begun(ui, (&ready, &goal), ask, failure))
}

fn cause(said: Option<CauseArg>) -> Cause {
    match said {
        None | Some(CauseArg::Schedule) => Cause::Schedule,
        Some(CauseArg::CatchUp) => Cause::CatchUp,
        Some(CauseArg::Backfill) => Cause::Backfill,
    }
}

fn say(ui: &Ui, ended: &Ended) {
    let health = ended.verdict.health;
    let style = match health {
        Health::Healthy | Health::Repaired => GOOD,
        Health::Failed | Health::Cancelled => BAD,
        Health::Waiting | Health::Unknown => WARN,
    };
    let word = paint(style, health.as_str());
    let goal = paint(BOLD, ended.goal.as_str());
    let why = match ended.verdict.why.as_str() {
        "" => String::new(),
        why => format!(" · {why}"),
    };
    ui.say_line(&format!("{goal} is {word}{why}"));
}

fn exit(health: Health) -> Exit {
    match health {
        Health::Healthy | Health::Repaired => Exit::Ok,
        Health::Failed | Health::Unknown => Exit::RunFailed,
        Health::Waiting => Exit::Waiting,
        Health::Cancelled => Exit::Interrupted,
    }
}
