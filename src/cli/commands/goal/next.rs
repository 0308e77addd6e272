use clap::{Args, ValueEnum};

use super::shown;
use crate::cli::goals::{Where, named};
use crate::cli::{Exit, Failure, Ui, load};
use crate::diag::{Code, Diagnostic};
use crate::goal::Part;
use crate::report::mistakes;
use crate::schedule::{BadZone, Cron, Dst, Fold, Gap, Timing, When, Zone};
use crate::source::{Source, Span};
use crate::time::Moment;

/// How wide mistakes are drawn, in columns.
const WIDTH: usize = 100;

/// Tell when something is due next
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf goal next nightly -n 10
  wf goal next --cron '30 2 * * *' --timezone Europe/Berlin
  wf goal next --cron '*/10 22-3 * * MON-FRI' --timezone America/New_York -n 20
  wf goal next --cron '30 1 * * *' --timezone Europe/Berlin --dst-overlap both \\
    --from 2026-10-24T12:00:00Z -n 3 --json

Nothing is run and nothing is recorded; only the zones of the system are read, or those that are
built in. docs/goals.md tells how an expression is written, and what happens when clocks are changed.")]
pub struct NextArgs {
    /// The goal: its id, or its file
    #[arg(value_name = "GOAL", required_unless_present = "cron")]
    goal: Option<String>,
    /// Times, as cron writes them: minutes, hours, days of the month, months, days of the week
    #[arg(long, value_name = "EXPR", conflicts_with = "goal")]
    cron: Option<String>,
    /// The zone whose clocks show these times
    #[arg(
        long,
        value_name = "ZONE",
        default_value = "UTC",
        conflicts_with = "goal"
    )]
    timezone: String,
    /// What becomes of a time that clocks going forward pass over
    #[arg(
        long,
        value_name = "POLICY",
        default_value = "run_at_transition",
        conflicts_with = "goal"
    )]
    dst_gap: GapArg,
    /// When a time comes that clocks going back show twice
    #[arg(
        long,
        value_name = "POLICY",
        default_value = "first",
        conflicts_with = "goal"
    )]
    dst_overlap: OverlapArg,
    /// Tell what comes after this instant, like 2026-11-21T09:30:00Z [default: now]
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    from: Option<Moment>,
    /// How many are told
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5)]
    limit: usize,
    /// Write one JSON object a line
    #[arg(long)]
    json: bool,
}

/// Reads an instant.
pub fn instant(text: &str) -> Result<Moment, String> {
    Moment::parse(text).map_err(|bad| bad.to_string())
}

/// The policies of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum GapArg {
    /// It does not come on that day
    Skip,
    /// It comes at the instant clocks go forward
    RunAtTransition,
}

/// The policies of an overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum OverlapArg {
    /// The first time; intervals come in both passes
    First,
    /// The last time; intervals come in both passes
    Last,
    /// Each time
    Both,
}

/// Tells the next slots.
pub(super) fn run(ui: &Ui, args: &NextArgs) -> Result<Exit, Failure> {
    let timing = match (&args.goal, &args.cron) {
        (Some(goal), _) => {
            let workspace = ui.workspace();
            let path = named(ui, &workspace, &Where::Disk, goal)?;
            let files = Where::Disk.files(&workspace);
            let place = (workspace.clone(), path.as_str());
            load::goal(ui, &*files, place, Part::Look)?.1.timing.clone()
        }
        (None, cron) => {
            let Some(expression) = expression(ui, cron.as_deref().unwrap_or_default()) else {
                return Err(Failure::silent(Exit::Usage));
            };
            Timing::of(When::Cron {
                expression,
                zone: Zone::parse(&args.timezone).map_err(|bad| no_zone(&bad))?,
                dst: args.dst(),
            })
        }
    };
    let from = args.from.unwrap_or_else(|| ui.env.now());
    let slots = timing
        .slots(from, Moment::from_millis(i64::MAX))
        .take(args.limit);
    if args.json {
        for slot in slots {
            ui.print_json(&shown::line(&timing, &slot))?;
        }
    } else {
        ui.print(&shown::table(&timing, slots))?;
    }
    Ok(Exit::Ok)
}

impl NextArgs {
    fn dst(&self) -> Dst {
        Dst {
            gap: match self.dst_gap {
                GapArg::Skip => Gap::Skip,
                GapArg::RunAtTransition => Gap::RunAtTransition,
            },
            overlap: match self.dst_overlap {
                OverlapArg::First => Fold::First,
                OverlapArg::Last => Fold::Last,
                OverlapArg::Both => Fold::Both,
            },
        }
    }
}

/// Reads an expression, or draws what is wrong with it.
fn expression(ui: &Ui, text: &str) -> Option<Cron> {
    let bad = match Cron::parse(text) {
        Ok(cron) => return Some(cron),
        Err(bad) => bad,
    };
    let span = Span::new(bad.at.start, bad.at.end);
    let mut diagnostic = Diagnostic::new(Code::ValueWrong, span, bad.message);
    diagnostic.help = bad.remedy;
    let checked = mistakes::Checked {
        source: Source::new("--cron", text),
        diagnostics: vec![diagnostic],
    };
    ui.say(&mistakes::text(&checked, WIDTH));
    None
}

/// What is said of a zone that does not exist.
fn no_zone(bad: &BadZone) -> Failure {
    let failure = Failure::new(Exit::Usage, bad.to_string());
    match &bad.nearest {
        Some(name) => failure.hint(format!("did you mean `{name}`?")),
        None => failure.hint("zones are called like Europe/Berlin, America/New_York or UTC"),
    }
}
