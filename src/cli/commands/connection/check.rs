use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::args::{duration, name};
use crate::cli::connections::health::{Looked, look};
use crate::cli::connections::{Adapter, Desk, named, rows};
use crate::cli::{Exit, Failure, Ui, Workspace, normal};
use crate::name::PlanId;
use crate::report::{BAD, GOOD, WARN, paint, plural};
use crate::store::{ConnectionRow, ConnectionState};

/// Look whether connections work, and replace tokens that end
#[derive(Args, Debug)]
#[command(after_help = "\
One that does not work is made to, once, by its skill. The exit code is 1 if one still does not.")]
pub struct CheckArgs {
    /// The connections
    #[arg(value_name = "NAME", value_parser = name, required_unless_present = "all")]
    names: Vec<PlanId>,
    /// All that were set up
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Answer in JSON, one line for each
    #[arg(long)]
    json: bool,
    /// Write this file if all of them work, and remove it if not
    #[arg(long, value_name = "FILE")]
    stamp: Option<PathBuf>,
    /// The longest that a script may take
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = duration)]
    timeout: Duration,
}

/// Looks at connections.
pub(super) fn run(ui: &Ui, args: &CheckArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let mut chosen: Vec<ConnectionRow> = Vec::new();
    if args.all {
        chosen = rows(ui)?;
        chosen.retain(|row| row.state != ConnectionState::Proposed);
    }
    for name in &args.names {
        chosen.push(set_up(named(ui, name)?)?);
    }
    let mut works = true;
    for row in chosen {
        works &= one(ui, &workspace, row, args)?;
    }
    if let Some(stamp) = &args.stamp {
        write_stamp(ui, &normal(&ui.env.cwd().join(stamp)), works)?;
    }
    Ok(if works { Exit::Ok } else { Exit::RunFailed })
}

/// Refuses a connection that never was one.
pub(super) fn set_up(row: ConnectionRow) -> Result<ConnectionRow, Failure> {
    if row.state != ConnectionState::Proposed {
        return Ok(row);
    }
    let (name, skill) = (&row.name, &row.skill);
    let failure = Failure::new(Exit::Usage, format!("`{name}` was never set up"));
    Err(failure.hint(format!("wf connection add {name} --skill {skill}")))
}

/// The skill of a connection, if it is the one that it was set up with.
pub(super) fn same_skill(
    ui: &Ui,
    workspace: &Workspace,
    row: &ConnectionRow,
) -> Result<Adapter, Failure> {
    let adapter = Adapter::find(ui, workspace, &row.skill)?;
    if adapter.digest == row.digest {
        return Ok(adapter);
    }
    let (name, skill) = (&row.name, &row.skill);
    let message = format!("the skill `{skill}` is another than the one that set up `{name}`");
    let failure = Failure::new(Exit::Approval, message);
    Err(failure.hint(format!(
        "look at what changed; then connect it again: wf connection add {name} --skill {skill}"
    )))
}

fn one(
    ui: &Ui,
    workspace: &Workspace,
    row: ConnectionRow,
    args: &CheckArgs,
) -> Result<bool, Failure> {
    let adapter = same_skill(ui, workspace, &row)?;
    let desk = Desk::open(ui, workspace, &row.name, adapter, args.timeout)?;
    let looked = look(ui, &desk, row)?;
    if args.json {
        ui.print_json(&format!("{}\n", json(&looked)))?;
    } else {
        ui.print(&line(&looked))?;
    }
    if let Some(trouble) = &looked.trouble {
        let failure = trouble.failure(looked.row.name.as_str(), &looked.row.skill);
        ui.say(&failure.render());
    }
    Ok(looked.trouble.is_none())
}

fn line(looked: &Looked) -> String {
    let row = &looked.row;
    let state = row.state.as_str();
    let mut text = match &looked.trouble {
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
    for warning in health.iter().flat_map(|health| &health.warnings) {
        text += &format!(
            "  {} {}\n",
            paint(WARN, "warning:"),
            warning.replace('\n', " ")
        );
    }
    if looked.plan.now.is_some() {
        text += &format!(
            "  {} its token could not be replaced\n",
            paint(WARN, "warning:")
        );
    }
    if let Some(left) = looked.plan.reconnect {
        let days = usize::try_from(left.as_secs() / 86_400).unwrap_or_default();
        let when = plural(days, "day");
        text += &format!(
            "  {} connect it again within {when}: wf connection add {} --skill {}\n",
            paint(WARN, "soon:"),
            row.name,
            row.skill
        );
    }
    text
}

fn json(looked: &Looked) -> Value {
    let health = looked.health.as_ref();
    json!({
        "connection": looked.row.name,
        "healthy": looked.trouble.is_none(),
        "state": looked.row.state,
        "checked": looked.row.checked,
        "latency_ms": health.and_then(|health| health.latency_ms),
        "token_expires_at": looked.row.token_expires_at,
        "refresh_token_expires_at": looked.row.refresh_expires_at,
        "refresh_at": looked.plan.at,
        "reconnect_within_s": looked.plan.reconnect.map(|left| left.as_secs()),
        "warnings": health.map(|health| &health.warnings),
        "failure": looked.row.failure.as_ref().map(|(kind, message)| json!({"kind": kind, "message": message})),
    })
}

/// Says to whoever looks at files that all of them worked, or not.
fn write_stamp(ui: &Ui, path: &Path, works: bool) -> Result<(), Failure> {
    let unable = |error: std::io::Error| {
        Failure::new(
            Exit::State,
            format!("cannot write {}: {error}", path.display()),
        )
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
    let text = format!("{}\n", json!({"healthy": true, "checked": ui.env.now()}));
    std::io::Write::write_all(&mut beside, text.as_bytes()).map_err(unable)?;
    beside.as_file().sync_all().map_err(unable)?;
    beside.persist(path).map_err(|error| unable(error.error))?;
    Ok(())
}
