use clap::Args;
use serde_json::{Value, json};

use crate::cli::approve::Standing;
use crate::cli::goals::{Leash, Where, all, granted, named};
use crate::cli::{Exit, Failure, Ui, load};
use crate::goal::{Advice, Grant, Part};
use crate::report::{BOLD, DIM, WARN, paint, plural};
use crate::time::{Moment, format_duration};

/// Show what goals may do by themselves, what people thought of it, and what is proposed
#[derive(Args, Debug)]
#[command(after_help = "\
A proposal changes nothing: the command that it names must be signed by those who may approve.
docs/goals.md tells what is counted, and when something is proposed.")]
pub struct AutonomyArgs {
    /// The goal: its id, or its file; all of the workspace if absent
    #[arg(value_name = "GOAL")]
    goal: Option<String>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Shows what goals may do by themselves.
pub fn run(ui: &Ui, args: &AutonomyArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let paths = match &args.goal {
        Some(goal) => vec![named(ui, &workspace, &Where::Disk, goal)?],
        None => all(&Where::Disk, &workspace)
            .into_iter()
            .filter(|found| found.goal.is_ok())
            .map(|found| found.path)
            .collect(),
    };
    let files = Where::Disk.files(&workspace);
    let now = ui.env.now();
    let mut goals: Vec<Value> = Vec::new();
    let mut text = String::new();
    for path in paths {
        let (ready, goal) = load::goal(ui, &*files, (workspace.clone(), &path), Part::Look)?;
        let leash = Leash::of(ui, &ready, &goal)?;
        goals.push(document(&leash, now));
        text += &shown(&leash, now);
    }
    if args.json {
        let document = json!({"v": 1, "goals": goals});
        ui.print_json(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"))?;
    } else if text.is_empty() {
        ui.note("no goals · a goal is a file with `kind: goal` in goals/ or workflows/\n");
    } else {
        ui.print(&text)?;
    }
    Ok(Exit::Ok)
}

/// Where an approval is in its life, in a word.
fn state(standing: &Standing, now: Moment) -> &'static str {
    let statement = &standing.statement;
    if standing.withdrawn.is_some() {
        "withdrawn"
    } else if now >= statement.expires {
        "expired"
    } else if standing.used >= statement.executions {
        "used up"
    } else {
        "holds"
    }
}

fn shown(leash: &Leash, now: Moment) -> String {
    let goal = paint(BOLD, leash.goal.id.as_str());
    let path = paint(DIM, &leash.shown);
    let counts = &leash.counts;
    let since = counts.when.map_or(String::new(), |(first, _)| {
        format!(" since {}", first.to_second())
    });
    format!(
        "{goal}  {path}\n  may do    {}\n  did       {}{since}: {} corrected, {} declined, \
         {} undone · rate {:.3}\n  proposal  {}\n",
        may(leash, now),
        repairs(counts.repairs),
        counts.corrected,
        counts.declined,
        counts.undone,
        counts.rate(),
        proposal(leash),
    )
}

/// What it may do.
fn may(leash: &Leash, now: Moment) -> String {
    let standing = match &leash.approval {
        None => return "every repair: its file says `approval: none`".into(),
        Some(Err(refusal)) => return format!("no repair: {refusal}"),
        Some(Ok(standing)) => standing,
    };
    let (all, used) = (standing.statement.executions, standing.used);
    let until = standing.statement.expires.to_second();
    let extent = format!("{} until {until}, {used} used", repairs(all));
    match state(standing, now) {
        "holds" => extent,
        over => format!("{} · {extent}", paint(WARN, over)),
    }
}

/// What is proposed, or why nothing is.
fn proposal(leash: &Leash) -> String {
    let Some(advice) = &leash.advice else {
        return format!("none: {}", why_none(leash));
    };
    let (executions, validity) = (
        repairs(advice.to.executions),
        format_duration(advice.to.validity),
    );
    let way = paint(WARN, advice.way.as_str());
    let command = leash.command(advice.to);
    format!(
        "{way} to {executions} in {validity}: {}\n            {command}",
        advice.why
    )
}

fn why_none(leash: &Leash) -> String {
    let (limits, rate) = (&leash.limits, leash.counts.rate());
    if leash.standing().is_none() {
        "there is no approval to change".into()
    } else if leash.counts.repairs < limits.min_samples {
        let needed = repairs(limits.min_samples);
        format!("of fewer than {needed} under an approval like this nothing is concluded")
    } else if rate > limits.tighten_above {
        "it allows as little as can be".into()
    } else if rate < limits.widen_below {
        "it allows as much as may be proposed".into()
    } else {
        let (low, high) = (limits.widen_below, limits.tighten_above);
        format!("the rate is from {low} to {high}")
    }
}

fn repairs(count: u32) -> String {
    plural(usize::try_from(count).unwrap_or(usize::MAX), "repair")
}

fn document(leash: &Leash, now: Moment) -> Value {
    let counts = &leash.counts;
    let approval = leash.approval.as_ref().map(|found| match found {
        Err(refusal) => json!({"state": "none", "why": refusal.to_string()}),
        Ok(standing) => json!({
            "state": state(standing, now),
            "executions": standing.statement.executions,
            "used": standing.used,
            "validity": format_duration(granted(&standing.statement).validity),
            "issued": standing.statement.issued,
            "expires": standing.statement.expires,
            "withdrawn": standing.withdrawn,
        }),
    });
    json!({
        "id": leash.goal.id,
        "path": leash.shown,
        "approval": approval,
        "repairs": counts.repairs,
        "corrected": counts.corrected,
        "declined": counts.declined,
        "undone": counts.undone,
        "rate": counts.rate(),
        "from": counts.when.map(|(first, _)| first),
        "to": counts.when.map(|(_, last)| last),
        "proposal": leash.advice.as_ref().map(|advice| proposed(leash, advice)),
    })
}

fn proposed(leash: &Leash, advice: &Advice) -> Value {
    let grant = |grant: Grant| {
        let validity = format_duration(grant.validity);
        json!({"executions": grant.executions, "validity": validity})
    };
    json!({
        "way": advice.way.as_str(),
        "from": grant(advice.from),
        "to": grant(advice.to),
        "why": advice.why,
        "command": leash.command(advice.to),
    })
}
