use std::{collections::BTreeMap, mem::ManuallyDrop, sync::Arc, time::Duration};

use clap::Args;
use serde_json::json;

use super::local;
use crate::Ui;
use wf_app::{
    CliExitCode, CommandError, Host,
    goals::{GoalSource, find_path, list_goals_on_disk, longest_reconciliations},
    load,
};
use wf_base::{
    name::PlanId,
    time::{BadMoment, Moment, format_duration, parse_duration},
    untrusted::{BAD, DIM, NAME, WARN, paint},
};
use wf_core::goal::{
    ReconciliationPart, SimulationResult, SimulationScenario, SlotEntry, SlotState, simulate,
};
use wf_model::Goal;
use wf_report::{ColumnAlign, TextTable};

/// Simulate the scheduler over a period
#[derive(Args, Debug)]
#[command(after_help = "\
Uses a simulated clock and the scheduler of the daemon; no process is started and nothing is
recorded. A reconciliation takes the time given by --takes, else the time of the latest ones of
the goal, else no time.

Examples:
  wf goal simulate --from 2027-01-01T00:00:00Z --to 2028-01-01T00:00:00Z
  wf goal simulate nightly --takes 26h                 reconciliations that take too long
  wf goal simulate --down 2027-03-27T20:00:00Z..2027-03-29T06:00:00Z
  wf goal simulate nightly --list                      every slot with its result")]
pub struct GoalSimulateArgs {
    /// IDs or files of the goals [default: all of the workspace]
    #[arg(value_name = "GOAL")]
    goals: Vec<String>,
    /// Start of the period [default: now]
    #[arg(long, value_name = "INSTANT")]
    from: Option<Moment>,
    /// End of the period [default: 365 days later]
    #[arg(long, value_name = "INSTANT")]
    to: Option<Moment>,
    /// Duration of a reconciliation; of one goal: GOAL=TIME
    #[arg(long, value_name = "[GOAL=]TIME")]
    takes: Vec<String>,
    /// Period in which the daemon is down
    #[arg(long, value_name = "FROM..TO", value_parser = outage)]
    down: Vec<(Moment, Moment)>,
    /// List every scheduled time
    #[arg(long)]
    list: bool,
    /// Write a line of JSON for each scheduled time
    #[arg(long, conflicts_with = "list")]
    json: bool,
}

/// The reason why a text is not a period of an outage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum BadOutage {
    /// It has one end.
    #[error("expected FROM..TO")]
    Form,
    /// An end is not an instant.
    #[error(transparent)]
    Moment(#[from] BadMoment),
    /// Its ends are the wrong way round.
    #[error("it ends before it starts")]
    Order,
}

fn outage(text: &str) -> Result<(Moment, Moment), BadOutage> {
    let (from, to) = text.split_once("..").ok_or(BadOutage::Form)?;
    let (from, to) = (Moment::parse(from)?, Moment::parse(to)?);
    if to <= from {
        return Err(BadOutage::Order);
    }
    Ok((from, to))
}

/// Simulates goals.
pub fn run(ui: &Ui, args: &GoalSimulateArgs) -> Result<CliExitCode, CommandError> {
    let goals = goals(ui, &args.goals)?;
    if goals.is_empty() {
        ui.print_info("no goals · a goal is a file with `kind: goal` in goals/ or workflows/\n");
        return Ok(CliExitCode::Ok);
    }
    let from = args.from.unwrap_or_else(|| ui.host.now());
    let to = args.to.unwrap_or(from.after(Duration::from_hours(24 * 365)));
    if to <= from {
        let message = format!("--to {to} is not after --from {from}");
        return Err(CommandError::new(CliExitCode::Usage, message));
    }
    let scenario = SimulationScenario {
        takes: estimated_durations(&ui.host, &goals, &args.takes)?,
        goals: goals.clone(),
        from,
        to,
        outages: args.down.clone(),
    };
    // A year of many goals is millions of scheduled times: the exit of the process frees them at once.
    let simulated = ManuallyDrop::new(simulate(scenario));
    if args.json {
        for goal in &goals {
            for (row, at) in simulated.ledger.rows(&goal.id) {
                ui.print_json(&(line(goal, row, at) + "\n"))?;
            }
        }
    } else {
        if args.list {
            ui.print(&slots(&goals, &simulated))?;
        }
        ui.print(&summary(&goals, &simulated))?;
        let wakes = simulated.wakes;
        let time = format_duration(Duration::from_secs(to.since(from).as_secs()));
        ui.print_info_line(&format!("{time} · the daemon woke up {wakes} times"));
    }
    Ok(CliExitCode::Ok)
}

fn goals(ui: &Ui, names: &[String]) -> Result<Vec<Arc<Goal>>, CommandError> {
    let workspace = ui.host.workspace();
    if names.is_empty() {
        let files = list_goals_on_disk(&workspace);
        for broken in files.iter().filter(|file| file.goal.is_err()) {
            let warning = paint(WARN, "warning:");
            ui.print_message_line(&format!("{warning} skipped {}: its file is invalid", broken.path));
        }
        return Ok(files.into_iter().filter_map(|file| file.goal.ok()).collect());
    }
    let goal_named = |name: &String| {
        let path = find_path(&ui.host, &workspace, &GoalSource::Disk, name)?;
        let files = GoalSource::Disk.files(&workspace);
        Ok(load::load_goal(ui, &*files, workspace.clone(), &path, ReconciliationPart::Look)?.1)
    };
    names.iter().map(goal_named).collect()
}

/// Returns the duration of a reconciliation of each goal.
fn estimated_durations(
    host: &Host,
    goals: &[Arc<Goal>],
    texts: &[String],
) -> Result<BTreeMap<PlanId, Duration>, CommandError> {
    let mut takes = longest_reconciliations(host, goals)?;
    for text in texts {
        let (name, time) = text.split_once('=').unwrap_or(("", text));
        let usage =
            |reason: String| CommandError::new(CliExitCode::Usage, format!("--takes {text}: {reason}"));
        let time = parse_duration(time).map_err(|error| usage(error.to_string()))?;
        let mut is_known = false;
        for goal in goals.iter().filter(|goal| name.is_empty() || goal.id.as_str() == name) {
            takes.insert(goal.id.clone(), time);
            is_known = true;
        }
        if !is_known {
            return Err(usage(format!("unknown goal `{name}`")));
        }
    }
    Ok(takes)
}

/// A scheduled time as one line of JSON, as `wf goal history --json` writes it.
fn line(goal: &Goal, entry: &SlotEntry, at: Moment) -> String {
    json!({
        "goal": goal.id,
        "slot": entry.slot,
        "last": entry.last,
        "count": entry.count,
        "state": entry.state,
        "cause": entry.cause,
        "reason": entry.reason,
        "at": at,
    })
    .to_string()
}

/// Lists every scheduled time, in chronological order.
fn slots(goals: &[Arc<Goal>], simulated: &SimulationResult) -> String {
    let columns = ["slot", "local", "goal", "state", "reason"].map(|name| (name, ColumnAlign::Left));
    let mut table = TextTable::new(&columns);
    let mut rows: Vec<(&Arc<Goal>, &SlotEntry)> = Vec::new();
    for goal in goals {
        rows.extend(simulated.ledger.rows(&goal.id).map(|(row, _)| (goal, row)));
    }
    rows.sort_by_key(|(_, row)| row.slot);
    for (goal, row) in rows {
        let style = match row.state {
            SlotState::Missed => BAD,
            SlotState::Skipped => DIM,
            _ => anstyle::Style::new(),
        };
        let state = match row.count {
            1 => row.state.as_str().to_owned(),
            count => format!("{count} {}", row.state.as_str()),
        };
        let reason = match row.cause {
            wf_core::goal::ReconciliationCause::CatchUp => format!("catch-up, {}", row.reason),
            _ => row.reason.clone(),
        };
        table.row(vec![
            (row.slot.to_second(), NAME),
            (local(&goal.timing, goal.timing.zone_at(row.slot), row.slot), DIM),
            (goal.id.to_string(), anstyle::Style::new()),
            (state, style),
            (reason, anstyle::Style::new()),
        ]);
    }
    table.render()
}

/// Summarizes the results of the scheduled times, goal by goal, with the reasons.
fn summary(goals: &[Arc<Goal>], simulated: &SimulationResult) -> String {
    let mut table = TextTable::new(&[
        ("goal", ColumnAlign::Left),
        ("slots", ColumnAlign::Right),
        ("state", ColumnAlign::Left),
        ("reason", ColumnAlign::Left),
    ]);
    let plain = anstyle::Style::new();
    for goal in goals {
        let mut name = goal.id.to_string();
        for (count, was, reason) in counts(goal, simulated) {
            let style = if was == SlotState::Missed.as_str() { BAD } else { plain };
            table.row(vec![
                (std::mem::take(&mut name), NAME),
                (count.to_string(), plain),
                (was.to_owned(), style),
                (reason, plain),
            ]);
        }
    }
    table.render()
}

/// Counts the scheduled times of a goal by result and reason; at least one line.
fn counts(goal: &Goal, simulated: &SimulationResult) -> Vec<(u64, &'static str, String)> {
    let mut counts: BTreeMap<(SlotState, &str), u64> = BTreeMap::new();
    for (row, _) in simulated.ledger.rows(&goal.id) {
        let reason = match row.state {
            SlotState::Started => row.cause.as_str(),
            // Which one does not matter in a sum.
            _ if row.reason.starts_with("the reconciliation of") => "a reconciliation was running",
            _ => &row.reason,
        };
        *counts.entry((row.state, reason)).or_default() += row.count;
    }
    let of = |starts: &[(PlanId, Moment)]| starts.iter().filter(|(id, _)| *id == goal.id).count() as u64;
    let more = [
        (of(&simulated.overlaps), "overlapped", "started beside another reconciliation"),
        (of(&simulated.cancelled), "cancelled", "replaced by a later slot"),
    ];
    let slots = counts.into_iter();
    let mut rows: Vec<_> =
        slots.map(|((state, reason), count)| (count, state.as_str(), reason.to_owned())).collect();
    let more = more.into_iter().filter(|(count, _, _)| *count > 0);
    rows.extend(more.map(|(count, was, reason)| (count, was, reason.to_owned())));
    if rows.is_empty() {
        rows.push((0, "due", String::new()));
    }
    rows
}
