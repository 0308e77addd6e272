use anstyle::Style;
use clap::Args;
use serde_json::Value;

use super::args::name;
use crate::Ui;
use wf_app::connections::{connection_rows, find_connection};
use wf_app::views::connection_document;
use wf_app::{CliExitCode, CommandError};
use wf_base::name::PlanId;
use wf_base::units::moment;
use wf_base::untrusted::{BAD, BOLD, DIM, GOOD, WARN};
use wf_report::{ColumnAlign, TextTable};
use wf_store::{ConnectionRow, ConnectionState};

/// List the connections
#[derive(Args, Debug)]
pub struct ConnectionListArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Show the details of a connection
#[derive(Args, Debug)]
pub struct ConnectionShowArgs {
    /// Name of the connection
    #[arg(value_name = "NAME", value_parser = name)]
    name: PlanId,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Lists connections.
pub(super) fn list(ui: &Ui, args: &ConnectionListArgs) -> Result<CliExitCode, CommandError> {
    let rows = connection_rows(&ui.host)?;
    if args.json {
        let all: Vec<Value> = rows.iter().map(connection_document).collect();
        ui.print_json(&format!("{}\n", Value::Array(all)))?;
    } else if rows.is_empty() {
        ui.print_info("no connections; add one with `wf connection add NAME --skill SKILL`\n");
    } else {
        ui.print(&table(&rows))?;
    }
    Ok(CliExitCode::Ok)
}

/// Shows one connection.
pub(super) fn show(ui: &Ui, args: &ConnectionShowArgs) -> Result<CliExitCode, CommandError> {
    let row = find_connection(&ui.host, &args.name)?;
    if args.json {
        ui.print_json(&format!("{}\n", connection_document(&row)))?;
        return Ok(CliExitCode::Ok);
    }
    let or = |at: Option<wf_base::time::Moment>, none: &str| at.map_or(none.to_owned(), moment);
    let mut lines = vec![
        ("state", row.state.as_str().to_owned()),
        ("account", row.account.clone().unwrap_or_else(|| "unknown".into())),
        ("skill", format!("{} in {}", row.skill, row.folder)),
        ("digest", row.digest.to_string()),
        ("by", row.auth.as_str().to_owned()),
        ("permissions", row.permissions.join(", ")),
        ("created", moment(row.created)),
        ("checked", or(row.checked, "never")),
        ("token until", or(row.token_expires_at, "unknown")),
        ("refresh until", or(row.refresh_expires_at, "unknown")),
        ("refreshed", or(row.last_refresh, "never")),
        ("used", or(row.last_used, "never")),
    ];
    if let Some((kind, message)) = &row.failure {
        lines.push(("failure", format!("{kind}: {}", message.replace('\n', " "))));
    }
    let line = |(what, text): &(&str, String)| format!("  {what:<13}  {text}\n");
    let lines: String = lines.iter().map(line).collect();
    ui.print(&format!("{}\n{lines}", row.name))?;
    Ok(CliExitCode::Ok)
}

fn table(rows: &[ConnectionRow]) -> String {
    let columns = ["name", "state", "skill", "account", "permissions", "checked"];
    let mut table = TextTable::new(&columns.map(|name| (name, ColumnAlign::Left)));
    for row in rows {
        let plain = Style::new();
        let state = match row.state {
            ConnectionState::Active => GOOD,
            ConnectionState::Proposed | ConnectionState::Removed => WARN,
            _ => BAD,
        };
        table.row(vec![
            (row.name.to_string(), BOLD),
            (row.state.as_str().to_owned(), state),
            (row.skill.clone(), plain),
            (row.account.clone().unwrap_or_default().replace('\n', " "), plain),
            (row.permissions.join(", "), plain),
            (row.checked.map(moment).unwrap_or_default(), DIM),
        ]);
    }
    table.render()
}
