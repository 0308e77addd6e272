use clap::{Args, ValueEnum};

use super::shown;
use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    goals::{GoalSource, find_path},
    load,
};
use wf_base::{
    diag::{Code, Diagnostic},
    source::{SourceText, Span},
    time::Moment,
};
use wf_core::goal::ReconciliationPart;
use wf_model::schedule::{
    BadZone, CronExpression, DstGapPolicy, DstOverlapPolicy, DstPolicy, GoalSchedule, ScheduleZone,
    TimingRule,
};
use wf_report::mistakes;

/// The width of drawn errors, in columns.
const WIDTH: usize = 100;

/// Show the next scheduled times
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf goal next nightly -n 10
  wf goal next --cron '30 2 * * *' --timezone Europe/Berlin
  wf goal next --cron '*/10 22-3 * * MON-FRI' --timezone America/New_York -n 20
  wf goal next --cron '30 1 * * *' --timezone Europe/Berlin --dst-overlap both \\
    --from 2026-10-24T12:00:00Z -n 3 --json

Runs and records nothing; it reads only the time zones of the system, or the built-in ones. See
docs/goals.md for the syntax of expressions, and for daylight saving time.")]
pub struct GoalNextArgs {
    /// ID or file of the goal
    #[arg(value_name = "GOAL", required_unless_present = "cron")]
    goal: Option<String>,
    /// Cron expression: minutes, hours, days of the month, months, days of the week
    #[arg(long, value_name = "EXPR", conflicts_with = "goal")]
    cron: Option<String>,
    /// Time zone of the cron expression
    #[arg(long, value_name = "ZONE", default_value = "UTC", conflicts_with = "goal")]
    timezone: String,
    /// Policy for a local time skipped when clocks go forward
    #[arg(long, value_name = "POLICY", default_value = "run_at_transition", conflicts_with = "goal")]
    dst_gap: GapArg,
    /// Policy for a local time repeated when clocks go back
    #[arg(long, value_name = "POLICY", default_value = "first", conflicts_with = "goal")]
    dst_overlap: OverlapArg,
    /// Show the times after this instant, like 2026-11-21T09:30:00Z [default: now]
    #[arg(long, value_name = "INSTANT")]
    from: Option<Moment>,
    /// Number of scheduled times
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5)]
    limit: usize,
    /// Write one JSON object per line
    #[arg(long)]
    json: bool,
}

/// The policies of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum GapArg {
    /// Skip it on that day
    Skip,
    /// Run at the instant clocks go forward
    RunAtTransition,
}

/// The policies of an overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum OverlapArg {
    /// Run the first time; intervals run in both passes
    First,
    /// Run the last time; intervals run in both passes
    Last,
    /// Run each time
    Both,
}

/// Prints the next scheduled times.
pub(super) fn run(ui: &Ui, args: &GoalNextArgs) -> Result<CliExitCode, CommandError> {
    let timing = match (&args.goal, &args.cron) {
        (Some(goal), _) => {
            let workspace = ui.host.workspace();
            let path = find_path(&ui.host, &workspace, &GoalSource::Disk, goal)?;
            let files = GoalSource::Disk.files(&workspace);
            load::load_goal(ui, &*files, workspace.clone(), &path, ReconciliationPart::Look)?.1.timing.clone()
        }
        (None, cron) => {
            let Some(expression) = expression(ui, cron.as_deref().unwrap_or_default()) else {
                return Err(CommandError::reported(CliExitCode::Usage));
            };
            GoalSchedule::of(TimingRule::Cron {
                expression,
                zone: ScheduleZone::parse(&args.timezone).map_err(|error| no_zone(&error))?,
                dst: args.dst(),
            })
        }
    };
    let from = args.from.unwrap_or_else(|| ui.host.now());
    let slots = timing.slots(from, Moment::from_millis(i64::MAX)).take(args.limit);
    if args.json {
        for slot in slots {
            ui.print_json(&shown::line(&timing, &slot))?;
        }
    } else {
        ui.print(&shown::table(&timing, slots))?;
    }
    Ok(CliExitCode::Ok)
}

impl GoalNextArgs {
    fn dst(&self) -> DstPolicy {
        DstPolicy {
            gap: match self.dst_gap {
                GapArg::Skip => DstGapPolicy::Skip,
                GapArg::RunAtTransition => DstGapPolicy::RunAtTransition,
            },
            overlap: match self.dst_overlap {
                OverlapArg::First => DstOverlapPolicy::First,
                OverlapArg::Last => DstOverlapPolicy::Last,
                OverlapArg::Both => DstOverlapPolicy::Both,
            },
        }
    }
}

/// Parses an expression, or prints its error.
fn expression(ui: &Ui, text: &str) -> Option<CronExpression> {
    let error = match CronExpression::parse(text) {
        Ok(cron) => return Some(cron),
        Err(error) => error,
    };
    let span = Span::new(error.at.start, error.at.end);
    let mut diagnostic = Diagnostic::new(Code::ValueWrong, span, error.message);
    diagnostic.help = error.remedy;
    let checked =
        wf_base::diag::CheckedFile { source: SourceText::new("--cron", text), diagnostics: vec![diagnostic] };
    ui.print_message(&mistakes::text(&checked, WIDTH));
    None
}

/// The failure for an unknown zone.
fn no_zone(bad: &BadZone) -> CommandError {
    let error = CommandError::new(CliExitCode::Usage, bad.to_string());
    match &bad.nearest {
        Some(name) => error.hint(format!("did you mean `{name}`?")),
        None => error.hint("examples of time zones: Europe/Berlin, America/New_York, UTC"),
    }
}
