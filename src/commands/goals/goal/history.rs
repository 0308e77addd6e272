use clap::Args;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    views::{GoalHistoryEntry, goal_history},
};
use wf_base::untrusted::{BAD, DIM, GOOD};
use wf_core::goal::SlotState;
use wf_report::{ColumnAlign, TextTable};

/// Show the scheduled times of a goal and the results of its reconciliations
#[derive(Args, Debug)]
#[command(after_help = "\
Lists every slot that was due as started, skipped, blocked or missed, with the reason. Long series of
slots that were skipped or missed for the same reason may share a line.")]
pub struct GoalHistoryArgs {
    /// ID or file of the goal
    #[arg(value_name = "GOAL")]
    goal: String,
    /// Number of latest entries
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Write a line of JSON for each, oldest first
    #[arg(long)]
    json: bool,
}

/// A cell of a table.
type HistoryCell = (String, anstyle::Style);

/// Shows the history of a goal.
pub fn run(ui: &Ui, args: &GoalHistoryArgs) -> Result<CliExitCode, CommandError> {
    let Some(latest) = goal_history(ui, &args.goal, args.limit)? else {
        ui.print_info("no history yet\n");
        return Ok(CliExitCode::Ok);
    };
    if args.json {
        let lines: String = latest.iter().map(|entry| entry.json().to_string() + "\n").collect();
        ui.print_json(&lines)?;
    } else if latest.is_empty() {
        ui.print_info("no history yet\n");
    } else {
        let columns = ["slot", "state", "ended", "run", "reason"];
        let mut table = TextTable::new(&columns.map(|name| (name, ColumnAlign::Left)));
        for entry in latest.iter().rev() {
            table.row(row(entry));
        }
        ui.print(&table.render())?;
    }
    Ok(CliExitCode::Ok)
}

fn row(entry: &GoalHistoryEntry) -> Vec<HistoryCell> {
    let plain = |text: String| (text, anstyle::Style::new());
    let (when, was) = match &entry.slot {
        Some(row) if row.count > 1 => {
            let when = format!("{} … {}", row.slot.to_second(), row.last.to_second());
            (when, plain(format!("{} {}", row.count, row.state.as_str())))
        }
        Some(row) if matches!(row.state, SlotState::Missed | SlotState::Blocked) => {
            (row.slot.to_second(), (row.state.as_str().to_owned(), BAD))
        }
        Some(row) => (row.slot.to_second(), plain(row.state.as_str().to_owned())),
        None => (entry.at.to_second(), plain("manual".to_owned())),
    };
    let cycle = entry.row.as_ref();
    let ended = match cycle.map(|cycle| &cycle.ended) {
        None => plain(String::new()),
        Some(None) => ("running".to_owned(), DIM),
        Some(Some((_, health, _))) => {
            let style = if health.is_good() { GOOD } else { BAD };
            (health.as_str().to_owned(), style)
        }
    };
    let runs = cycle.map_or(String::new(), |cycle| {
        let repair = cycle.repair.as_ref().map(|run| format!(" {}", run.short()));
        cycle.run.short().to_owned() + &repair.unwrap_or_default()
    });
    vec![plain(when), was, ended, (runs, DIM), plain(entry.reason())]
}
