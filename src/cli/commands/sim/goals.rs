use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use crate::cli::commands::goal::{instant, local};
use crate::cli::goals::{Where, all, named};
use crate::cli::{Exit, Failure, Ui, load};
use crate::goal::{Part, Row, Scenario, Simulated, SlotState, simulate};
use crate::model::Goal;
use crate::name::PlanId;
use crate::report::{Align, BAD, DIM, NAME, Table, WARN, paint};
use crate::store::Reader;
use crate::time::{Moment, format_duration, parse_duration};

/// How many of the last cycles say how long one takes.
const LATEST: usize = 50;

/// Let a daemon live through a time of your choice, in an instant
#[derive(Args, Debug)]
#[command(after_help = "\
The clock is not the machine's, no process is started and nothing is recorded; what decides about
slots is the code of the daemon itself. A cycle takes as long as --takes says, else as long as the
latest ones of the goal took, else no time.

Examples:
  wf sim goals --from 2027-01-01T00:00:00Z --to 2028-01-01T00:00:00Z
  wf sim goals nightly --takes 26h                     cycles that take too long
  wf sim goals --down 2027-03-27T20:00:00Z..2027-03-29T06:00:00Z
  wf sim goals nightly --list                          every slot, and what became of it")]
pub struct GoalsArgs {
    /// The goals: ids or files; all of the workspace if absent
    #[arg(value_name = "GOAL")]
    goals: Vec<String>,
    /// From this instant on [default: now]
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    from: Option<Moment>,
    /// Until this instant [default: 365 days later]
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    to: Option<Moment>,
    /// How long a cycle takes; of one goal: GOAL=TIME
    #[arg(long, value_name = "[GOAL=]TIME")]
    takes: Vec<String>,
    /// When the daemon is not there
    #[arg(long, value_name = "FROM..TO", value_parser = outage)]
    down: Vec<(Moment, Moment)>,
    /// List every slot
    #[arg(long)]
    list: bool,
    /// Write a line of JSON for each slot
    #[arg(long, conflicts_with = "list")]
    json: bool,
}

fn outage(text: &str) -> Result<(Moment, Moment), String> {
    let (from, to) = text.split_once("..").ok_or("write FROM..TO")?;
    let (from, to) = (instant(from)?, instant(to)?);
    if to <= from {
        return Err("it ends before it begins".into());
    }
    Ok((from, to))
}

/// Simulates goals.
pub fn run(ui: &Ui, args: &GoalsArgs) -> Result<Exit, Failure> {
    let goals = goals(ui, &args.goals)?;
    if goals.is_empty() {
        ui.note("no goals · a goal is a file with `kind: goal` in goals/ or workflows/\n");
        return Ok(Exit::Ok);
    }
    let from = args.from.unwrap_or_else(|| ui.env.now());
    let to = args
        .to
        .unwrap_or(from.after(Duration::from_hours(24 * 365)));
    if to <= from {
        let message = format!("--to {to} is not after --from {from}");
        return Err(Failure::new(Exit::Usage, message));
    }
    let scenario = Scenario {
        takes: takes(ui, &goals, &args.takes)?,
        goals: goals.clone(),
        from,
        to,
        outages: args.down.clone(),
    };
    // A year of many goals is millions of slots: the end of the process gives them back at once.
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
        ui.note_line(&format!("{time} · the daemon woke {wakes} times"));
    }
    Ok(Exit::Ok)
}

fn goals(ui: &Ui, names: &[String]) -> Result<Vec<Arc<Goal>>, Failure> {
    let workspace = ui.workspace();
    if names.is_empty() {
        let found = all(&Where::Disk, &workspace);
        for broken in found.iter().filter(|found| found.goal.is_err()) {
            let warning = paint(WARN, "warning:");
            ui.say_line(&format!(
                "{warning} {} is left out: it is broken",
                broken.path
            ));
        }
        return Ok(found
            .into_iter()
            .filter_map(|found| found.goal.ok())
            .collect());
    }
    let one = |name: &String| {
        let path = named(ui, &workspace, &Where::Disk, name)?;
        let files = Where::Disk.files(&workspace);
        Ok(load::goal(ui, &*files, (workspace.clone(), &path), Part::Look)?.1)
    };
    names.iter().map(one).collect()
}

/// How long a cycle of each goal takes.
fn takes(
    ui: &Ui,
    goals: &[Arc<Goal>],
    said: &[String],
) -> Result<BTreeMap<PlanId, Duration>, Failure> {
    let reader = Reader::open(&ui.workspace().state).ok();
    let mut takes = BTreeMap::new();
    for goal in goals {
        let known = reader
            .as_ref()
            .map(|reader| reader.cycles(&goal.id, LATEST));
        let known = known.transpose()?.unwrap_or_default();
        let times = known.iter().filter_map(|cycle| {
            let (ended, _, _) = cycle.ended.as_ref()?;
            Some(ended.since(cycle.began))
        });
        takes.insert(goal.id.clone(), times.max().unwrap_or_default());
    }
    for text in said {
        let (name, time) = text.split_once('=').unwrap_or(("", text));
        let usage = |why: String| Failure::new(Exit::Usage, format!("--takes {text}: {why}"));
        let time = parse_duration(time).map_err(|bad| usage(bad.to_string()))?;
        let mut found = false;
        for goal in goals
            .iter()
            .filter(|goal| name.is_empty() || goal.id.as_str() == name)
        {
            takes.insert(goal.id.clone(), time);
            found = true;
        }
        if !found {
            return Err(usage(format!("there is no goal `{name}`")));
        }
    }
    Ok(takes)
}

/// A slot as one line of JSON, as `wf goal history --json` writes it.
fn line(goal: &Goal, row: &Row, at: Moment) -> String {
    json!({
        "goal": goal.id,
        "slot": row.slot,
        "last": row.last,
        "count": row.count,
        "state": row.state,
        "cause": row.cause,
        "why": row.why,
        "at": at,
    })
    .to_string()
}

/// Every slot, in the order of time.
fn slots(goals: &[Arc<Goal>], simulated: &Simulated) -> String {
    let columns = ["slot", "local", "goal", "was", "why"].map(|name| (name, Align::Left));
    let mut table = Table::new(&columns);
    let mut rows: Vec<(&Arc<Goal>, &Row)> = Vec::new();
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
        let why = match row.cause {
            crate::goal::Cause::CatchUp => format!("catch-up, {}", row.why),
            _ => row.why.clone(),
        };
        table.row(vec![
            (row.slot.to_second(), NAME),
            (
                local(&goal.timing, goal.timing.zone_at(row.slot), row.slot),
                DIM,
            ),
            (goal.id.to_string(), anstyle::Style::new()),
            (state, style),
            (why, anstyle::Style::new()),
        ]);
    }
    table.render()
}

/// What became of the slots, goal by goal, and why.
fn summary(goals: &[Arc<Goal>], simulated: &Simulated) -> String {
    let mut table = Table::new(&[
        ("goal", Align::Left),
        ("slots", Align::Right),
        ("were", Align::Left),
        ("why", Align::Left),
    ]);
    let plain = anstyle::Style::new();
    for goal in goals {
        let mut name = goal.id.to_string();
        for (count, was, why) in counts(goal, simulated) {
            let style = if was == SlotState::Missed.as_str() {
                BAD
            } else {
                plain
            };
            table.row(vec![
                (std::mem::take(&mut name), NAME),
                (count.to_string(), plain),
                (was.to_owned(), style),
                (why, plain),
            ]);
        }
    }
    table.render()
}

/// How many slots of a goal became what, and why; at least one line.
fn counts(goal: &Goal, simulated: &Simulated) -> Vec<(u64, &'static str, String)> {
    let mut counts: BTreeMap<(SlotState, &str), u64> = BTreeMap::new();
    for (row, _) in simulated.ledger.rows(&goal.id) {
        let why = match row.state {
            SlotState::Started => row.cause.as_str(),
            // Which one does not matter in a sum.
            _ if row.why.starts_with("the cycle of") => "a cycle went on",
            _ => &row.why,
        };
        *counts.entry((row.state, why)).or_default() += row.count;
    }
    let of = |all: &[(PlanId, Moment)]| all.iter().filter(|(id, _)| *id == goal.id).count() as u64;
    let more = [
        (
            of(&simulated.overlaps),
            "overlapped",
            "began beside another cycle",
        ),
        (
            of(&simulated.cancelled),
            "cancelled",
            "a later slot replaced the cycle",
        ),
    ];
    let slots = counts.into_iter();
    let mut all: Vec<_> = slots
        .map(|((state, why), count)| (count, state.as_str(), why.to_owned()))
        .collect();
    let more = more.into_iter().filter(|(count, _, _)| *count > 0);
    all.extend(more.map(|(count, was, why)| (count, was, why.to_owned())));
    if all.is_empty() {
        all.push((0, "due", String::new()));
    }
    all
}
