use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::args::{duration, name};
use crate::Ui;
use wf_app::connections::health::{ConnectionCheckResult, check_connection};
use wf_app::connections::{
    AdapterFailure, AdapterRunner, ConnectionAdapter, connection_rows, find_connection,
};
use wf_app::{CliExitCode, CommandError, Host, Workspace, normalize_path};
use wf_base::name::PlanId;
use wf_base::units::plural;
use wf_base::untrusted::{BAD, GOOD, WARN, paint};
use wf_store::{ConnectionRow, ConnectionState};

/// Check that connections work, and refresh expiring tokens
#[derive(Args, Debug)]
#[command(after_help = "\
The skill tries once to repair a connection that fails. Exit code 1 if one still fails. A step of
a run does not call a service that failed three times in a row, for a minute; a person always
does.")]
pub struct ConnectionCheckArgs {
    /// Names of the connections
    #[arg(value_name = "NAME", value_parser = name, required_unless_present = "all")]
    names: Vec<PlanId>,
    /// Check all connections that were set up
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Write JSON, one line per connection
    #[arg(long)]
    json: bool,
    /// Write this file if all of them work, and remove it if not
    #[arg(long, value_name = "FILE")]
    stamp: Option<PathBuf>,
    /// Time limit for a script
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = duration)]
    timeout: Duration,
}

/// Checks connections.
pub(super) fn run(ui: &Ui, args: &ConnectionCheckArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let mut chosen: Vec<ConnectionRow> = Vec::new();
    if args.all {
        chosen = connection_rows(&ui.host)?;
        chosen.retain(|row| row.state != ConnectionState::Proposed);
    }
    for name in &args.names {
        chosen.push(require_set_up(find_connection(&ui.host, name)?)?);
    }
    let mut works = true;
    for row in chosen {
        works &= check_one(ui, &workspace, row, args)?;
    }
    if let Some(stamp) = &args.stamp {
        write_stamp(&ui.host, &normalize_path(&ui.host.cwd().join(stamp)), works)?;
    }
    Ok(if works { CliExitCode::Ok } else { CliExitCode::RunFailed })
}

/// Refuses a connection that was never set up.
pub(super) fn require_set_up(row: ConnectionRow) -> Result<ConnectionRow, CommandError> {
    if row.state != ConnectionState::Proposed {
        return Ok(row);
    }
    let (name, skill) = (&row.name, &row.skill);
    let failure = CommandError::new(CliExitCode::Usage, format!("`{name}` has not been set up"));
    Err(failure.hint(format!("set it up: wf connection add {name} --skill {skill}")))
}

/// Returns the skill of a connection, if it is the one that it was set up with.
pub(super) fn require_same_skill(
    ui: &Ui,
    workspace: &Workspace,
    row: &ConnectionRow,
) -> Result<ConnectionAdapter, CommandError> {
    let adapter = ConnectionAdapter::load_approved(ui, workspace, &row.skill)?;
    if adapter.digest == row.digest {
        return Ok(adapter);
    }
    let (name, skill) = (&row.name, &row.skill);
    let message = format!("the skill `{skill}` has changed since it set up `{name}`");
    let failure = CommandError::new(CliExitCode::Approval, message);
    Err(failure.hint(format!("review the changes, then reconnect: wf connection add {name} --skill {skill}")))
}

fn check_one(
    ui: &Ui,
    workspace: &Workspace,
    row: ConnectionRow,
    args: &ConnectionCheckArgs,
) -> Result<bool, CommandError> {
    let adapter = require_same_skill(ui, workspace, &row)?;
    let desk = AdapterRunner::open(ui, workspace, &row.name, adapter, args.timeout)?;
    let looked = check_connection(ui, &desk, row)?;
    if args.json {
        ui.print_json(&format!("{}\n", json(&looked)))?;
    } else {
        ui.print(&line(&looked))?;
    }
    if let Some(trouble) = &looked.failure {
        let failure = trouble.failure(looked.row.name.as_str(), &looked.row.skill);
        ui.print_message(&failure.render());
    }
    Ok(looked.failure.is_none())
}

fn line(looked: &ConnectionCheckResult) -> String {
    let row = &looked.row;
    let state = row.state.as_str();
    let mut text = match &looked.failure {
        None => format!("{} {}", paint(GOOD, state), row.name),
        Some(_) => format!("{} {}", paint(BAD, state), row.name),
    };
    let health = looked.health.as_ref();
    if let Some(latency) = health.and_then(|health| health.latency_ms) {
        text += &format!(" · {latency} ms");
    }
    if let Some(end) = row.token_expires_at {
        text += &format!(" · token until {}", end.to_second());
    }
    text += "\n";
    if let Some(note) = &looked.breaker {
        text += &format!("  {note}\n");
    }
    for warning in health.iter().flat_map(|health| &health.warnings) {
        text += &format!("  {} {}\n", paint(WARN, "warning:"), warning.replace('\n', " "));
    }
    if looked.plan.now.is_some() {
        text += &format!("  {} its token could not be refreshed\n", paint(WARN, "warning:"));
    }
    if let Some(left) = looked.plan.reconnect {
        let days = usize::try_from(left.as_secs() / 86_400).unwrap_or_default();
        let when = plural(days, "day");
        text += &format!(
            "  {} reconnect within {when}: wf connection add {} --skill {}\n",
            paint(WARN, "soon:"),
            row.name,
            row.skill
        );
    }
    text
}

fn json(looked: &ConnectionCheckResult) -> Value {
    let health = looked.health.as_ref();
    let failure = looked.failure.as_ref().map(AdapterFailure::record);
    json!({
        "connection": looked.row.name,
        "healthy": looked.failure.is_none(),
        "state": looked.row.state,
        "checked": looked.row.checked,
        "latency_ms": health.and_then(|health| health.latency_ms),
        "token_expires_at": looked.row.token_expires_at,
        "refresh_token_expires_at": looked.row.refresh_expires_at,
        "refresh_at": looked.plan.at,
        "reconnect_within_s": looked.plan.reconnect.map(|left| left.as_secs()),
        "warnings": health.map(|health| &health.warnings),
        "failure": failure.map(|(kind, message)| json!({"kind": kind, "message": message})),
        "breaker": looked.breaker,
    })
}

/// Writes or removes the stamp file: it tells other programs that all connections work.
fn write_stamp(host: &Host, path: &Path, works: bool) -> Result<(), CommandError> {
    let unable = |error: std::io::Error| {
        CommandError::new(CliExitCode::State, format!("cannot write {}: {error}", path.display()))
    };
    if !works {
        return match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(unable(error)),
            _ => Ok(()),
        };
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(unable)?;
    let mut beside = tempfile::NamedTempFile::new_in(folder).map_err(unable)?;
    let text = format!("{}\n", json!({"healthy": true, "checked": host.now()}));
    std::io::Write::write_all(&mut beside, text.as_bytes()).map_err(unable)?;
    beside.as_file().sync_all().map_err(unable)?;
    beside.persist(path).map_err(|error| unable(error.error))?;
    Ok(())
}
