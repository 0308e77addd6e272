use std::{
    cell::Cell,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use serde_json::{Value, json};

use crate::Ui;
use wf_app::{
    Caller as _, CliExitCode, CommandError, Host,
    connections::{AdapterFailure, ConnectionCheckResult, check_connections},
    normalize_path,
};
use wf_base::{
    name::PlanId,
    time::parse_duration,
    units::plural,
    untrusted::{BAD, GOOD, WARN, paint},
};

/// Check that connections work, and refresh expiring tokens
#[derive(Args, Debug)]
#[command(after_help = "\
The skill tries once to repair a connection that fails. Exit code 1 if one still fails. A step of
a run does not call a service that failed three times in a row, for a minute; a person always
does.")]
pub struct ConnectionCheckArgs {
    /// Names of the connections
    #[arg(value_name = "NAME", required_unless_present = "all")]
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
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = parse_duration)]
    timeout: Duration,
}

/// Checks connections.
pub(super) fn run(ui: &Ui, args: &ConnectionCheckArgs) -> Result<CliExitCode, CommandError> {
    let works = Cell::new(true);
    check_connections(ui, &args.names, args.timeout, &|result| {
        works.set(works.get() && result.failure.is_none());
        report(ui, args, result)
    })?;
    let works = works.get();
    if let Some(stamp) = &args.stamp {
        write_stamp(&ui.host, &normalize_path(&ui.host.cwd().join(stamp)), works)?;
    }
    Ok(if works { CliExitCode::Ok } else { CliExitCode::RunFailed })
}

fn report(ui: &Ui, args: &ConnectionCheckArgs, result: &ConnectionCheckResult) -> Result<(), CommandError> {
    if args.json {
        ui.print_json(&format!("{}\n", json(result)))?;
    } else {
        ui.print(&line(result))?;
    }
    if let Some(failure) = &result.failure {
        let error = failure.failure(&result.record.name, &result.record.skill);
        ui.print_message(&ui.failure_text(&error));
    }
    Ok(())
}

fn line(result: &ConnectionCheckResult) -> String {
    let record = &result.record;
    let state = record.state.as_str();
    let mut text = match &result.failure {
        None => format!("{} {}", paint(GOOD, state), record.name),
        Some(_) => format!("{} {}", paint(BAD, state), record.name),
    };
    let health = result.health.as_ref();
    if let Some(latency) = health.and_then(|health| health.latency_ms) {
        text += &format!(" · {latency} ms");
    }
    if let Some(end) = record.token_expires_at {
        text += &format!(" · token until {}", end.to_second());
    }
    text += "\n";
    if let Some(note) = &result.breaker {
        text += &format!("  {note}\n");
    }
    for warning in health.iter().flat_map(|health| &health.warnings) {
        text += &format!("  {} {}\n", paint(WARN, "warning:"), warning.replace('\n', " "));
    }
    if result.plan.reason.is_some() {
        text += &format!("  {} its token could not be refreshed\n", paint(WARN, "warning:"));
    }
    if let Some(left) = result.plan.reconnect {
        let days = usize::try_from(left.as_secs() / 86_400).unwrap_or_default();
        let when = plural(days, "day");
        text += &format!(
            "  {} reconnect within {when}: wf connection add {} --skill {}\n",
            paint(WARN, "soon:"),
            record.name,
            record.skill
        );
    }
    text
}

fn json(result: &ConnectionCheckResult) -> Value {
    let health = result.health.as_ref();
    let failure = result.failure.as_ref().map(AdapterFailure::record);
    json!({
        "connection": result.record.name,
        "healthy": result.failure.is_none(),
        "state": result.record.state,
        "checked": result.record.checked,
        "latency_ms": health.and_then(|health| health.latency_ms),
        "token_expires_at": result.record.token_expires_at,
        "refresh_token_expires_at": result.record.refresh_expires_at,
        "refresh_at": result.plan.at,
        "reconnect_within_s": result.plan.reconnect.map(|left| left.as_secs()),
        "warnings": health.map(|health| &health.warnings),
        "failure": failure.map(|(kind, message)| json!({"kind": kind, "message": message})),
        "breaker": result.breaker,
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
