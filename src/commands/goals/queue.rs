//! `wf queue`: what the engine owes or waits for.

use clap::{Args, Subcommand};
use serde_json::json;

use super::goal;
use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    goals::wake_daemon,
    queue::{self, QueueEntry, QueueState, QueueSubject, read_queue},
};
use wf_base::{
    diag::nearest,
    untrusted::{BAD, DIM, untrusted},
};
use wf_report::{ColumnAlign, TextTable};

#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct QueueArgs {
    #[command(subcommand)]
    command: QueueCommand,
}

#[derive(Subcommand, Debug)]
enum QueueCommand {
    List(QueueListArgs),
    Inspect(QueueInspectArgs),
    Requeue(QueueRequeueArgs),
}

/// List what the engine owes or waits for
#[derive(Args, Debug)]
#[command(after_help = "\
Lists notifications that were not delivered, the latest slot of a goal if it is due, was left out
or failed, questions to a queue of people, and steps that wait for a lock, a file or a permit.
`dead` is what failed and is not tried again unless you requeue it; all else is `waiting`.")]
struct QueueListArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Show an entry, and what can be done about it
#[derive(Args, Debug)]
struct QueueInspectArgs {
    /// ID of the entry, as `wf queue list` shows it
    #[arg(value_name = "ID")]
    id: String,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Try a dead entry again
#[derive(Args, Debug)]
#[command(after_help = "\
A notification is due again: the daemon sends it, or the next `wf goal run`. For a slot, the goal
is reconciled now, as by `wf goal run`; the record of the slot stays as it is.")]
struct QueueRequeueArgs {
    /// ID of the entry, as `wf queue list` shows it
    #[arg(value_name = "ID")]
    id: String,
}

/// Runs the given subcommand.
pub fn run(ui: &Ui, args: &QueueArgs) -> Result<CliExitCode, CommandError> {
    match &args.command {
        QueueCommand::List(args) => list(ui, args),
        QueueCommand::Inspect(args) => inspect(ui, args),
        QueueCommand::Requeue(args) => requeue(ui, args),
    }
}

fn list(ui: &Ui, args: &QueueListArgs) -> Result<CliExitCode, CommandError> {
    let entries = read_queue(&ui.host)?;
    if args.json {
        ui.print_json(&format!("{}\n", json!({ "v": 1, "entries": entries })))?;
    } else if entries.is_empty() {
        ui.print_info("nothing is waiting\n");
    } else {
        let columns = ["id", "state", "since", "reason"];
        let mut table = TextTable::new(&columns.map(|name| (name, ColumnAlign::Left)));
        for entry in &entries {
            let style = if entry.state == QueueState::Dead { BAD } else { DIM };
            let plain = anstyle::Style::new();
            table.row(vec![
                (entry.id.clone(), plain),
                (state_word(entry.state).to_owned(), style),
                (entry.since.to_second(), plain),
                (untrusted(&entry.reason).to_string(), plain),
            ]);
        }
        ui.print(&table.render())?;
    }
    Ok(CliExitCode::Ok)
}

fn inspect(ui: &Ui, args: &QueueInspectArgs) -> Result<CliExitCode, CommandError> {
    let entry = find(ui, &args.id)?;
    if args.json {
        ui.print_json(&format!("{}\n", json!({ "v": 1, "entry": entry })))?;
        return Ok(CliExitCode::Ok);
    }
    let QueueEntry { id, state, subject, since, reason } = &entry;
    let text = format!(
        "{id} · {} since {}\n{}\nreason: {}\nnext: {}\n",
        state_word(*state),
        since.to_second(),
        subject_text(subject),
        untrusted(reason),
        remedy(&entry),
    );
    ui.print(&text)?;
    Ok(CliExitCode::Ok)
}

fn requeue(ui: &Ui, args: &QueueRequeueArgs) -> Result<CliExitCode, CommandError> {
    let entry = find(ui, &args.id)?;
    match (&entry.subject, entry.state) {
        (QueueSubject::Notification { .. }, _) => {
            queue::requeue(ui, &entry)?;
            wake_daemon(&ui.host.workspace().state);
            ui.print_info_line(&format!("{} is due · {}", entry.id, remedy(&entry_due(&entry))));
            Ok(CliExitCode::Ok)
        }
        (QueueSubject::Slot { goal }, QueueState::Dead) => {
            queue::requeue(ui, &entry)?;
            goal::run_now(ui, goal.as_str())
        }
        _ => {
            let message =
                format!("cannot requeue {}: it has not failed, it waits ({})", entry.id, entry.reason);
            Err(CommandError::new(CliExitCode::Usage, message).hint(remedy(&entry)))
        }
    }
}

/// Returns an entry as it is once it was requeued.
fn entry_due(entry: &QueueEntry) -> QueueEntry {
    QueueEntry { state: QueueState::Waiting, ..entry.clone() }
}

fn find(ui: &Ui, id: &str) -> Result<QueueEntry, CommandError> {
    let entries = read_queue(&ui.host)?;
    if let Some(entry) = entries.iter().find(|entry| entry.id == id) {
        return Ok(entry.clone());
    }
    let error = CommandError::new(CliExitCode::Usage, format!("no entry `{}` in the queue", untrusted(id)));
    Err(match nearest(id, entries.iter().map(|entry| entry.id.as_str())) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("to list the entries: wf queue list"),
    })
}

fn state_word(state: QueueState) -> &'static str {
    match state {
        QueueState::Waiting => "waiting",
        QueueState::Dead => "dead",
    }
}

fn subject_text(subject: &QueueSubject) -> String {
    match subject {
        QueueSubject::Notification { goal, tries, .. } => {
            format!("a notification about goal {goal} · rounds of tries: {tries}")
        }
        QueueSubject::Slot { goal } => format!("the latest slot of goal {goal}"),
        QueueSubject::Request { run, request, queue } => {
            format!("request {request} of run {} to queue {}", run.short(), untrusted(queue))
        }
        QueueSubject::Task { run, task } => format!("step {} of run {}", untrusted(task), run.short()),
    }
}

/// Returns the remedies for an entry.
fn remedy(entry: &QueueEntry) -> String {
    match (&entry.subject, entry.state) {
        (QueueSubject::Notification { .. } | QueueSubject::Slot { .. }, QueueState::Dead) => {
            format!("wf queue requeue {}", entry.id)
        }
        (QueueSubject::Notification { goal, .. }, QueueState::Waiting) => {
            format!("the daemon sends it, or the next `wf goal run {goal}`")
        }
        (QueueSubject::Slot { goal }, QueueState::Waiting) => {
            format!("the daemon starts it; by hand: wf goal run {goal}")
        }
        (QueueSubject::Request { run, .. }, _) => format!("wf approve {}", run.short()),
        (QueueSubject::Task { run, .. }, _) => {
            format!("it begins once that is free; to end the run: wf cancel {}", run.short())
        }
    }
}
