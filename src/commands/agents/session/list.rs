use anstyle::Style;
use clap::Args;
use serde_json::json;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    sessions::{SessionSummary, list_sessions},
};
use wf_base::{
    units::moment,
    untrusted::{BOLD, DIM, GOOD, WARN},
};
use wf_core::session::SessionState;
use wf_report::{ColumnAlign, TextTable};

/// List the sessions
#[derive(Args, Debug)]
pub struct SessionListArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Lists sessions.
pub(super) fn run(ui: &Ui, args: &SessionListArgs) -> Result<CliExitCode, CommandError> {
    let sessions = list_sessions(&ui.host)?;
    if args.json {
        ui.print_json(&format!("{:#}\n", json!({ "v": 1, "sessions": sessions })))?;
    } else if sessions.is_empty() {
        ui.print_info("no sessions; begin one with `wf session new NAME`\n");
    } else {
        ui.print(&table(&sessions))?;
    }
    Ok(CliExitCode::Ok)
}

fn table(sessions: &[SessionSummary]) -> String {
    let (left, right) = (|name| (name, ColumnAlign::Left), |name| (name, ColumnAlign::Right));
    let mut table = TextTable::new(&[
        left("session"),
        left("state"),
        right("runs"),
        right("open"),
        right("notes"),
        left("last active"),
    ]);
    for summary in sessions {
        let session = &summary.session;
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
            number(summary.run_count),
            number(summary.open_run_count),
            number(summary.note_count),
            (moment(summary.last_active), DIM),
        ]);
    }
    table.render()
}
