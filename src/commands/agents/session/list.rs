use anstyle::Style;
use clap::Args;
use serde_json::{Value, json};

use super::checkpoint::{SessionCounts, read_sessions};
use crate::Ui;
use wf_app::{CliExitCode, CommandError};
use wf_base::units::moment;
use wf_base::untrusted::{BOLD, DIM, GOOD, WARN};
use wf_core::session::SessionState;
use wf_report::{ColumnAlign, TextTable};
use wf_store::{StoreReader, allow_no_state};

/// List the sessions
#[derive(Args, Debug)]
pub struct SessionListArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Lists sessions.
pub(super) fn run(ui: &Ui, args: &SessionListArgs) -> Result<CliExitCode, CommandError> {
    let reader = allow_no_state(StoreReader::open(&ui.host.workspace().state))?;
    let all = reader.map_or_else(|| Ok(Vec::new()), |reader| read_sessions(&reader))?;
    if args.json {
        let sessions: Vec<Value> = all.iter().map(json).collect();
        ui.print_json(&format!("{:#}\n", json!({ "v": 1, "sessions": sessions })))?;
    } else if all.is_empty() {
        ui.print_info("no sessions; begin one with `wf session new NAME`\n");
    } else {
        ui.print(&table(&all))?;
    }
    Ok(CliExitCode::Ok)
}

fn json(counts: &SessionCounts) -> Value {
    let mut session = serde_json::to_value(&counts.session).unwrap_or_default();
    let more = [
        ("last_active", json!(counts.last_active)),
        ("run_count", json!(counts.runs)),
        ("open_run_count", json!(counts.open_runs)),
        ("note_count", json!(counts.notes)),
    ];
    if let Some(fields) = session.as_object_mut() {
        fields.extend(more.map(|(key, value)| (key.to_owned(), value)));
    }
    session
}

fn table(all: &[SessionCounts]) -> String {
    let (left, right) = (|name| (name, ColumnAlign::Left), |name| (name, ColumnAlign::Right));
    let mut table = TextTable::new(&[
        left("session"),
        left("state"),
        right("runs"),
        right("open"),
        right("notes"),
        left("last active"),
    ]);
    for counts in all {
        let session = &counts.session;
        let style = match session.state {
            SessionState::Active => GOOD,
            SessionState::Suspended => WARN,
            SessionState::Completed | SessionState::Failed => DIM,
        };
        let current = if session.is_current { " (current)" } else { "" };
        let number = |number: usize| (number.to_string(), Style::new());
        table.row(vec![
            (format!("{}{current}", session.name), BOLD),
            (session.state.to_string(), style),
            number(counts.runs),
            number(counts.open_runs),
            number(counts.notes),
            (moment(counts.last_active), DIM),
        ]);
    }
    table.render()
}
