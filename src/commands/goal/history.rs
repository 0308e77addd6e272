use clap::Args;
use serde_json::{Value, json};

use crate::Ui;
use wf_app::goals::{GoalSource, find_path, load_by_name};
use wf_app::{CliExitCode, CommandError};
use wf_base::name::PlanId;
use wf_base::time::Moment;
use wf_base::untrusted::{BAD, DIM, GOOD};
use wf_core::goal::{ReconciliationPart, SlotState};
use wf_report::{ColumnAlign, TextTable};
use wf_store::{ReconciliationRow, SlotRow, StoreError, StoreReader};

/// Show the scheduled times of a goal and the results of its reconciliations
#[derive(Args, Debug)]
#[command(after_help = "\
Lists every slot that was due as started, skipped or missed, with the reason. Long series of slots
that were skipped or missed for the same reason may share a line.")]
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

/// A scheduled time, or a reconciliation started by a user.
struct HistoryEntry {
    at: Moment,
    slot: Option<SlotRow>,
    cycle: Option<ReconciliationRow>,
    /// True if the second run is that of a job: it repaired nothing.
    is_job: bool,
}

/// A cell of a table.
type HistoryCell = (String, anstyle::Style);

/// Shows the history of a goal.
pub fn run(ui: &Ui, args: &GoalHistoryArgs) -> Result<CliExitCode, CommandError> {
    let reader = match StoreReader::open(&ui.host.workspace().state) {
        Ok(reader) => reader,
        Err(StoreError::NoState(_)) => {
            find_path(&ui.host, &ui.host.workspace(), &GoalSource::Disk, &args.goal)?;
            ui.print_info("no history yet\n");
            return Ok(CliExitCode::Ok);
        }
        Err(error) => return Err(error.into()),
    };
    let id = id(ui, &reader, &args.goal)?;
    let latest = latest(&reader, &id, args.limit)?;
    if args.json {
        let lines: String = latest.iter().map(|entry| entry.json().to_string() + "\n").collect();
        ui.print_json(&lines)?;
    } else if latest.is_empty() {
        ui.print_info("no history yet\n");
    } else {
        let columns = ["slot", "state", "ended", "run", "reason"];
        let mut table = TextTable::new(&columns.map(|name| (name, ColumnAlign::Left)));
        for entry in latest.iter().rev() {
            table.row(entry.row());
        }
        ui.print(&table.render())?;
    }
    Ok(CliExitCode::Ok)
}

/// Returns the id of a goal that the ledger knows, or that is a file.
fn id(ui: &Ui, reader: &StoreReader, name: &str) -> Result<PlanId, CommandError> {
    let known = reader.goals()?.into_iter();
    if let Some(row) = known.into_iter().find(|row| row.id.as_str() == name) {
        return Ok(row.id);
    }
    let (_, goal) = load_by_name(ui, name)?;
    Ok(goal.id.clone())
}

/// The latest entries, oldest first.
fn latest(reader: &StoreReader, goal: &PlanId, limit: usize) -> Result<Vec<HistoryEntry>, CommandError> {
    let mut entries: Vec<HistoryEntry> = Vec::new();
    for slot in reader.latest_slots(goal, limit)? {
        let cycle = match &slot.run {
            Some(run) => reader.cycle(run)?,
            None => None,
        };
        entries.push(HistoryEntry { at: slot.slot, slot: Some(slot), cycle, is_job: false });
    }
    let asked = reader.cycles(goal, limit)?.into_iter();
    let asked = asked.filter(|cycle| cycle.slot.is_none());
    entries.extend(asked.map(|cycle| HistoryEntry {
        at: cycle.started_at,
        slot: None,
        cycle: Some(cycle),
        is_job: false,
    }));
    entries.sort_by_key(|entry| entry.at);
    let mut entries = entries.split_off(entries.len().saturating_sub(limit));
    for entry in &mut entries {
        let second = entry.cycle.as_ref().and_then(|cycle| cycle.repair.as_ref());
        // Retention may have removed the run.
        let row = second.and_then(|run| reader.run(run).ok());
        entry.is_job = row.is_some_and(|row| row.goal == Some(ReconciliationPart::Job));
    }
    Ok(entries)
}

impl HistoryEntry {
    fn row(&self) -> Vec<HistoryCell> {
        let plain = |text: String| (text, anstyle::Style::new());
        let (when, was) = match &self.slot {
            Some(row) if row.count > 1 => {
                let when = format!("{} … {}", row.slot.to_second(), row.last.to_second());
                (when, plain(format!("{} {}", row.count, row.state.as_str())))
            }
            Some(row) if row.state == SlotState::Missed => {
                (row.slot.to_second(), (row.state.as_str().to_owned(), BAD))
            }
            Some(row) => (row.slot.to_second(), plain(row.state.as_str().to_owned())),
            None => (self.at.to_second(), plain("manual".to_owned())),
        };
        let cycle = self.cycle.as_ref();
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
        vec![plain(when), was, ended, (runs, DIM), plain(self.reason())]
    }

    fn reason(&self) -> String {
        let slot = self.slot.as_ref().map_or("", |row| row.reason.as_str());
        let ended = self.cycle.as_ref().and_then(|cycle| cycle.ended.as_ref());
        let cycle = ended.map_or("", |(_, _, reason)| reason.as_str());
        [slot, cycle].into_iter().filter(|reason| !reason.is_empty()).collect::<Vec<_>>().join("; ")
    }

    fn json(&self) -> Value {
        let cycle = self.cycle.as_ref().map(|cycle| {
            let ended = cycle.ended.as_ref();
            json!({
                "run": cycle.run,
                "cause": cycle.cause,
                "began": cycle.started_at,
                (if self.is_job { "job" } else { "repair" }): cycle.repair,
                "ended": ended.map(|(at, _, _)| at),
                "health": ended.map(|(_, health, _)| health),
                "reason": ended.map(|(_, _, reason)| reason),
            })
        });
        match &self.slot {
            None => json!({"cycle": cycle}),
            Some(row) => json!({
                "slot": row.slot,
                "last": row.last,
                "count": row.count,
                "state": row.state,
                "cause": row.cause,
                "reason": row.reason,
                "at": row.at,
                "cycle": cycle,
            }),
        }
    }
}
