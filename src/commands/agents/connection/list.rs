use anstyle::Style;
use clap::Args;
use serde_json::json;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    connections::{ConnectionRecord, RecordedConnectionFailure, list_connections, read_connection},
};
use wf_base::{
    name::PlanId,
    units::moment,
    untrusted::{BAD, BOLD, DIM, GOOD, WARN},
};
use wf_core::connection::ConnectionState;
use wf_report::{ColumnAlign, TextTable};

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
    #[arg(value_name = "NAME")]
    name: PlanId,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Lists connections.
pub(super) fn list(ui: &Ui, args: &ConnectionListArgs) -> Result<CliExitCode, CommandError> {
    let records = list_connections(&ui.host)?;
    if args.json {
        ui.print_json(&format!("{}\n", json!(records)))?;
    } else if records.is_empty() {
        ui.print_info("no connections; add one with `wf connection add NAME --skill SKILL`\n");
    } else {
        ui.print(&table(&records))?;
    }
    Ok(CliExitCode::Ok)
}

/// Shows one connection.
pub(super) fn show(ui: &Ui, args: &ConnectionShowArgs) -> Result<CliExitCode, CommandError> {
    let record = read_connection(&ui.host, &args.name)?;
    if args.json {
        ui.print_json(&format!("{}\n", json!(record)))?;
        return Ok(CliExitCode::Ok);
    }
    let or = |at: Option<wf_base::time::Moment>, none: &str| at.map_or(none.to_owned(), moment);
    let mut lines = vec![
        ("state", record.state.as_str().to_owned()),
        ("account", record.account.clone().unwrap_or_else(|| "unknown".into())),
        ("skill", format!("{} in {}", record.skill, record.folder)),
        ("digest", record.digest.to_string()),
        ("by", record.auth.as_str().to_owned()),
        ("permissions", record.permissions.join(", ")),
        ("created", moment(record.created)),
        ("checked", or(record.checked, "never")),
        ("token until", or(record.token_expires_at, "unknown")),
        ("refresh until", or(record.refresh_expires_at, "unknown")),
        ("refreshed", or(record.last_refresh, "never")),
        ("used", or(record.last_used, "never")),
    ];
    if let Some(RecordedConnectionFailure { kind, message }) = &record.failure {
        lines.push(("failure", format!("{kind}: {}", message.replace('\n', " "))));
    }
    let line = |(name, text): &(&str, String)| format!("  {name:<13}  {text}\n");
    let lines: String = lines.iter().map(line).collect();
    ui.print(&format!("{}\n{lines}", record.name))?;
    Ok(CliExitCode::Ok)
}

fn table(records: &[ConnectionRecord]) -> String {
    let columns = ["name", "state", "skill", "account", "permissions", "checked"];
    let mut table = TextTable::new(&columns.map(|name| (name, ColumnAlign::Left)));
    for record in records {
        let plain = Style::new();
        let state = match record.state {
            ConnectionState::Active => GOOD,
            ConnectionState::Proposed | ConnectionState::Removed => WARN,
            _ => BAD,
        };
        table.row(vec![
            (record.name.to_string(), BOLD),
            (record.state.as_str().to_owned(), state),
            (record.skill.clone(), plain),
            (record.account.clone().unwrap_or_default().replace('\n', " "), plain),
            (record.permissions.join(", "), plain),
            (record.checked.map(moment).unwrap_or_default(), DIM),
        ]);
    }
    table.render()
}
