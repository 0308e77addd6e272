use clap::Args;
use serde_json::{Value, json};

use crate::cli::goals::{Found, all_with_waits};
use crate::cli::{Exit, Failure, Ui};
use crate::model::Goal;
use crate::report::{Align, BAD, BOLD, DIM, GOOD, Table, WARN, first_line};
use crate::store::{CycleRow, GoalRow, Reader, StoreError};
use crate::time::Moment;

/// List the goals of this workspace: how they are, and when they are due next
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// A goal as it is listed.
struct Listed {
    found: Found,
    row: Option<GoalRow>,
    last: Option<CycleRow>,
    next: Option<Moment>,
}

/// A cell of a table.
type Cell = (String, anstyle::Style);

fn plain(text: &str) -> Cell {
    (text.to_owned(), anstyle::Style::new())
}

/// Lists goals.
pub fn run(ui: &Ui, args: &ListArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let reader = match Reader::open(&workspace.state) {
        Ok(reader) => Some(reader),
        Err(StoreError::NoState(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let now = ui.env.now();
    let mut listed = Vec::new();
    for found in all_with_waits(ui, &workspace) {
        listed.push(one(found, reader.as_ref(), now)?);
    }
    if args.json {
        let goals: Vec<Value> = listed.iter().map(Listed::json).collect();
        let document = json!({"v": 1, "goals": goals});
        ui.print_json(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"))?;
    } else if listed.is_empty() {
        ui.note("no goals · a goal is a file with `kind: goal` in goals/ or workflows/\n");
    } else {
        let mut table = Table::new(
            &["goal", "is", "since", "next", "file", "why"].map(|name| (name, Align::Left)),
        );
        for one in &listed {
            table.row(one.row());
        }
        ui.print(&table.render())?;
    }
    Ok(Exit::Ok)
}

fn one(found: Found, reader: Option<&Reader>, now: Moment) -> Result<Listed, Failure> {
    let mut listed = Listed {
        found,
        row: None,
        last: None,
        next: None,
    };
    let Ok(goal) = listed.found.goal.clone() else {
        return Ok(listed);
    };
    listed.next = goal.timing.next(now).map(|slot| begins(&goal, slot.at));
    if let Some(reader) = reader {
        let rows = reader.goals()?.into_iter();
        listed.row = rows.into_iter().find(|row| row.id == goal.id);
        let cycles = reader.cycles(&goal.id, 20)?.into_iter();
        listed.last = cycles.into_iter().find(|cycle| cycle.ended.is_some());
    }
    Ok(listed)
}

/// When a cycle of a slot begins.
fn begins(goal: &Goal, slot: Moment) -> Moment {
    slot.after(goal.timing.offset(goal.id.as_str()))
}

impl Listed {
    fn row(&self) -> Vec<Cell> {
        let path = (self.found.path.clone(), DIM);
        let goal = match &self.found.goal {
            Ok(goal) => goal,
            Err(why) => {
                let id = self.found.id.clone().unwrap_or_else(|| "-".to_owned());
                let (none, broken) = (("-".to_owned(), DIM), ("broken".to_owned(), BAD));
                return vec![(id, BOLD), broken, plain(""), none, path, plain(why)];
            }
        };
        let paused = self.row.as_ref().and_then(|row| row.paused.as_ref());
        let ended = self.last.as_ref().and_then(|cycle| cycle.ended.as_ref());
        let waits = self.found.waits.as_deref();
        let (word, since, why) = match (paused, ended) {
            (None, _) if waits.is_some() => {
                let since = ended.map(|(at, _, _)| *at);
                (
                    ("unaccepted".to_owned(), WARN),
                    since,
                    waits.unwrap_or_default(),
                )
            }
            (Some((since, why)), _) => (("paused".to_owned(), WARN), Some(*since), why.as_str()),
            (None, Some((at, health, why))) => {
                let style = if health.is_good() { GOOD } else { BAD };
                let why = if health.is_good() { "" } else { why };
                ((health.as_str().to_owned(), style), Some(*at), why)
            }
            (None, None) => (("new".to_owned(), DIM), None, ""),
        };
        let next = match self.next {
            _ if paused.is_some() => ("-".to_owned(), DIM),
            Some(next) => plain(&next.to_second()),
            None => ("never".to_owned(), DIM),
        };
        let since = since.map_or(String::new(), Moment::to_second);
        let id = (goal.id.to_string(), BOLD);
        vec![id, word, plain(&since), next, path, plain(first_line(why))]
    }

    fn json(&self) -> Value {
        let path = &self.found.path;
        let goal = match &self.found.goal {
            Ok(goal) => goal,
            Err(why) => return json!({"id": self.found.id, "path": path, "broken": why}),
        };
        let paused = self.row.as_ref().and_then(|row| row.paused.as_ref());
        let ended = self.last.as_ref().and_then(|cycle| cycle.ended.as_ref());
        json!({
            "id": goal.id,
            "path": path,
            "title": goal.title,
            "health": ended.map(|(_, health, _)| health),
            "why": ended.map(|(_, _, why)| why),
            "since": ended.map(|(at, _, _)| at),
            "paused": paused.map(|(since, why)| json!({"since": since, "why": why})),
            "next": self.next,
            "waits": self.found.waits,
        })
    }
}
