use clap::Args;
use serde_json::{Value, json};

use crate::cli::goals::{Where, by_name, named};
use crate::cli::{Exit, Failure, Ui};
use crate::goal::SlotState;
use crate::name::PlanId;
use crate::report::{Align, BAD, DIM, GOOD, Table};
use crate::store::{CycleRow, Reader, SlotRow, StoreError};
use crate::time::Moment;

/// Show what became of every slot of a goal, and how its cycles ended
#[derive(Args, Debug)]
#[command(after_help = "\
Every slot that was due is listed: started, skipped or missed, with the reason. Slots in a row that
were left out for the same reason may share a line when there are very many.")]
pub struct HistoryArgs {
    /// The goal: its id, or its file
    #[arg(value_name = "GOAL")]
    goal: String,
    /// How many of the latest
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Write a line of JSON for each, oldest first
    #[arg(long)]
    json: bool,
}

/// A slot, or a cycle that somebody asked for.
struct Entry {
    at: Moment,
    slot: Option<SlotRow>,
    cycle: Option<CycleRow>,
}

/// A cell of a table.
type Cell = (String, anstyle::Style);

/// Shows the history of a goal.
pub fn run(ui: &Ui, args: &HistoryArgs) -> Result<Exit, Failure> {
    let reader = match Reader::open(&ui.workspace().state) {
        Ok(reader) => reader,
        Err(StoreError::NoState(_)) => {
            named(ui, &ui.workspace(), &Where::Disk, &args.goal)?;
            ui.note("nothing yet\n");
            return Ok(Exit::Ok);
        }
        Err(error) => return Err(error.into()),
    };
    let id = id(ui, &reader, &args.goal)?;
    let latest = latest(&reader, &id, args.limit)?;
    if args.json {
        let lines: String = latest
            .iter()
            .map(|entry| entry.json().to_string() + "\n")
            .collect();
        ui.print_json(&lines)?;
    } else if latest.is_empty() {
        ui.note("nothing yet\n");
    } else {
        let columns = ["slot", "was", "ended", "run", "why"];
        let mut table = Table::new(&columns.map(|name| (name, Align::Left)));
        for entry in latest.iter().rev() {
            table.row(entry.row());
        }
        ui.print(&table.render())?;
    }
    Ok(Exit::Ok)
}

/// The id of a goal that the ledger knows, or that is a file.
fn id(ui: &Ui, reader: &Reader, name: &str) -> Result<PlanId, Failure> {
    let known = reader.goals()?.into_iter();
    if let Some(row) = known.into_iter().find(|row| row.id.as_str() == name) {
        return Ok(row.id);
    }
    let (_, goal) = by_name(ui, name)?;
    Ok(goal.id.clone())
}

/// The latest entries, oldest first.
fn latest(reader: &Reader, goal: &PlanId, limit: usize) -> Result<Vec<Entry>, Failure> {
    let mut entries: Vec<Entry> = Vec::new();
    for slot in reader.latest_slots(goal, limit)? {
        let cycle = match &slot.run {
            Some(run) => reader.cycle(run)?,
            None => None,
        };
        entries.push(Entry {
            at: slot.slot,
            slot: Some(slot),
            cycle,
        });
    }
    let asked = reader.cycles(goal, limit)?.into_iter();
    let asked = asked.filter(|cycle| cycle.slot.is_none());
    entries.extend(asked.map(|cycle| Entry {
        at: cycle.began,
        slot: None,
        cycle: Some(cycle),
    }));
    entries.sort_by_key(|entry| entry.at);
    Ok(entries.split_off(entries.len().saturating_sub(limit)))
}

impl Entry {
    fn row(&self) -> Vec<Cell> {
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
            None => (self.at.to_second(), plain("asked for".to_owned())),
        };
        let cycle = self.cycle.as_ref();
        let ended = match cycle.map(|cycle| &cycle.ended) {
            None => plain(String::new()),
            Some(None) => ("goes on".to_owned(), DIM),
            Some(Some((_, health, _))) => {
                let style = if health.is_good() { GOOD } else { BAD };
                (health.as_str().to_owned(), style)
            }
        };
        let runs = cycle.map_or(String::new(), |cycle| {
            let repair = cycle.repair.as_ref().map(|run| format!(" {}", run.short()));
            cycle.run.short().to_owned() + &repair.unwrap_or_default()
        });
        vec![plain(when), was, ended, (runs, DIM), plain(self.why())]
    }

    fn why(&self) -> String {
        let slot = self.slot.as_ref().map_or("", |row| row.why.as_str());
        let ended = self.cycle.as_ref().and_then(|cycle| cycle.ended.as_ref());
        let cycle = ended.map_or("", |(_, _, why)| why.as_str());
        [slot, cycle]
            .into_iter()
            .filter(|why| !why.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    }

    fn json(&self) -> Value {
        let cycle = self.cycle.as_ref().map(|cycle| {
            let ended = cycle.ended.as_ref();
            json!({
                "run": cycle.run,
                "cause": cycle.cause,
                "began": cycle.began,
                "repair": cycle.repair,
                "ended": ended.map(|(at, _, _)| at),
                "health": ended.map(|(_, health, _)| health),
                "why": ended.map(|(_, _, why)| why),
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
                "why": row.why,
                "at": row.at,
                "cycle": cycle,
            }),
        }
    }
}
