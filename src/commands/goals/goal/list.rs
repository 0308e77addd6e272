use clap::Args;
use serde_json::{Value, json};

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    views::{GoalListing, goal_listings},
};
use wf_base::{
    time::Moment,
    units::first_line,
    untrusted::{BAD, BOLD, DIM, GOOD, WARN},
};
use wf_report::{ColumnAlign, TextTable};

/// List the goals of this workspace with their health and next scheduled time
#[derive(Args, Debug)]
pub struct GoalListArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// A cell of a table.
type GoalListCell = (String, anstyle::Style);

fn plain(text: &str) -> GoalListCell {
    (text.to_owned(), anstyle::Style::new())
}

/// Lists goals.
pub fn run(ui: &Ui, args: &GoalListArgs) -> Result<CliExitCode, CommandError> {
    let listed = goal_listings(ui)?;
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
        for listing in &listed {
            table.row(row(listing));
        }
        ui.print(&table.render())?;
    }
    Ok(CliExitCode::Ok)
}

fn row(listing: &GoalListing) -> Vec<GoalListCell> {
    let path = (listing.file.path.clone(), DIM);
    let goal = match &listing.file.goal {
        Ok(goal) => goal,
        Err(error) => {
            let id = listing.file.id.clone().unwrap_or_else(|| "-".to_owned());
            let (none, broken) = (("-".to_owned(), DIM), ("broken".to_owned(), BAD));
            return vec![(id, BOLD), broken, plain(""), none, path, plain(&error.to_string())];
        }
    };
    let paused = listing.row.as_ref().and_then(|row| row.paused.as_ref());
    let ended = listing.last_row.as_ref().and_then(|cycle| cycle.ended.as_ref());
    let (word, since, reason) = match (paused, ended) {
        (None, _) if let Some(blocked) = &listing.blocked => {
            (("blocked".to_owned(), BAD), blocked.since, blocked.reason.as_str())
        }
        (Some((since, reason)), _) => (("paused".to_owned(), WARN), Some(*since), reason.as_str()),
        (None, Some((_, health, reason))) => {
            let style = if health.is_good() { GOOD } else { BAD };
            let reason = if health.is_good() { "" } else { reason };
            ((health.as_str().to_owned(), style), listing.since, reason)
        }
        (None, None) => (("new".to_owned(), DIM), None, ""),
    };
    let next = match listing.next {
        _ if paused.is_some() => ("-".to_owned(), DIM),
        Some(next) => plain(&next.to_second()),
        None => ("never".to_owned(), DIM),
    };
    let deployed = listing
        .deployment()
        .map(|goal| format!("deployed on {} since {}", goal.backend, goal.since.to_second()));
    let reason = match (deployed, first_line(reason)) {
        (None, reason) => reason.to_owned(),
        (Some(deployed), "") => deployed,
        (Some(deployed), reason) => format!("{deployed} · {reason}"),
    };
    let since = since.map_or(String::new(), Moment::to_second);
    let id = (goal.id.to_string(), BOLD);
    vec![id, word, plain(&since), next, path, plain(&reason)]
}
