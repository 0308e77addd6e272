use clap::Args;
use serde_json::{Value, json};

use crate::Ui;
use wf_app::goals::{GoalFile, list_goals_with_acceptance};
use wf_app::{CliExitCode, CommandError};
use wf_base::time::Moment;
use wf_base::units::first_line;
use wf_base::untrusted::{BAD, BOLD, DIM, GOOD, WARN};
use wf_model::Goal;
use wf_report::{ColumnAlign, TextTable};
use wf_store::{GoalRow, ReconciliationRow, StoreError, StoreReader};

/// List the goals of this workspace with their health and next scheduled time
#[derive(Args, Debug)]
pub struct GoalListArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// A goal in the list.
struct GoalListing {
    found: GoalFile,
    row: Option<GoalRow>,
    last: Option<ReconciliationRow>,
    next: Option<Moment>,
}

/// A cell of a table.
type GoalListCell = (String, anstyle::Style);

fn plain(text: &str) -> GoalListCell {
    (text.to_owned(), anstyle::Style::new())
}

/// Lists goals.
pub fn run(ui: &Ui, args: &GoalListArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let reader = match StoreReader::open(&workspace.state) {
        Ok(reader) => Some(reader),
        Err(StoreError::NoState(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let now = ui.host.now();
    let mut listed = Vec::new();
    for found in list_goals_with_acceptance(ui, &workspace) {
        listed.push(list_goal(found, reader.as_ref(), now)?);
    }
    if args.json {
        let goals: Vec<Value> = listed.iter().map(GoalListing::json).collect();
        let document = json!({"v": 1, "goals": goals});
        ui.print_json(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"))?;
    } else if listed.is_empty() {
        ui.print_info("no goals · a goal is a file with `kind: goal` in goals/ or workflows/\n");
    } else {
        let mut table = TextTable::new(
            &["goal", "status", "since", "next", "file", "reason"].map(|name| (name, ColumnAlign::Left)),
        );
        for one in &listed {
            table.row(one.row());
        }
        ui.print(&table.render())?;
    }
    Ok(CliExitCode::Ok)
}

fn list_goal(
    found: GoalFile,
    reader: Option<&StoreReader>,
    now: Moment,
) -> Result<GoalListing, CommandError> {
    let mut listed = GoalListing { found, row: None, last: None, next: None };
    let Ok(goal) = listed.found.goal.clone() else {
        return Ok(listed);
    };
    listed.next = goal.timing.next(now).map(|slot| start_time(&goal, slot.at));
    if let Some(reader) = reader {
        let rows = reader.goals()?.into_iter();
        listed.row = rows.into_iter().find(|row| row.id == goal.id);
        let cycles = reader.cycles(&goal.id, 20)?.into_iter();
        listed.last = cycles.into_iter().find(|cycle| cycle.ended.is_some());
    }
    Ok(listed)
}

/// Returns the time at which the reconciliation of a scheduled time starts.
fn start_time(goal: &Goal, slot: Moment) -> Moment {
    slot.after(goal.timing.offset(goal.id.as_str()))
}

impl GoalListing {
    fn row(&self) -> Vec<GoalListCell> {
        let path = (self.found.path.clone(), DIM);
        let goal = match &self.found.goal {
            Ok(goal) => goal,
            Err(reason) => {
                let id = self.found.id.clone().unwrap_or_else(|| "-".to_owned());
                let (none, broken) = (("-".to_owned(), DIM), ("broken".to_owned(), BAD));
                return vec![(id, BOLD), broken, plain(""), none, path, plain(reason)];
            }
        };
        let paused = self.row.as_ref().and_then(|row| row.paused.as_ref());
        let ended = self.last.as_ref().and_then(|cycle| cycle.ended.as_ref());
        let waits = self.found.awaited_acceptance.as_deref();
        let (word, since, reason) = match (paused, ended) {
            (None, _) if waits.is_some() => {
                let since = ended.map(|(at, _, _)| *at);
                (("unaccepted".to_owned(), WARN), since, waits.unwrap_or_default())
            }
            (Some((since, reason)), _) => (("paused".to_owned(), WARN), Some(*since), reason.as_str()),
            (None, Some((at, health, reason))) => {
                let style = if health.is_good() { GOOD } else { BAD };
                let reason = if health.is_good() { "" } else { reason };
                ((health.as_str().to_owned(), style), Some(*at), reason)
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
        vec![id, word, plain(&since), next, path, plain(first_line(reason))]
    }

    fn json(&self) -> Value {
        let path = &self.found.path;
        let goal = match &self.found.goal {
            Ok(goal) => goal,
            Err(reason) => return json!({"id": self.found.id, "path": path, "broken": reason}),
        };
        let paused = self.row.as_ref().and_then(|row| row.paused.as_ref());
        let ended = self.last.as_ref().and_then(|cycle| cycle.ended.as_ref());
        json!({
            "id": goal.id,
            "path": path,
            "title": goal.title,
            "health": ended.map(|(_, health, _)| health),
            "reason": ended.map(|(_, _, reason)| reason),
            "since": ended.map(|(at, _, _)| at),
            "paused": paused.map(|(since, reason)| json!({"since": since, "reason": reason})),
            "next": self.next,
            "waits": self.found.awaited_acceptance,
        })
    }
}
