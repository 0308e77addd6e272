use clap::Args;
use serde_json::{Value, json};

use crate::{Ui, actions::command_text};
use wf_app::{
    CliExitCode, CommandError,
    goals::{AutonomyStatus, GoalSource, find_paths},
    load,
};
use wf_base::{
    time::{Moment, format_duration},
    units::plural,
    untrusted::{BOLD, DIM, WARN, paint},
};
use wf_core::goal::ReconciliationPart;

/// Show what goals may do unattended, the feedback on it, and the advice that follows
#[derive(Args, Debug)]
#[command(after_help = "\
A proposal changes nothing: it takes effect when an approver runs the command it names. See
docs/goals.md for what is counted and when a change is proposed.")]
pub struct GoalAutonomyArgs {
    /// ID or file of the goal [default: all of the workspace]
    #[arg(value_name = "GOAL")]
    goal: Option<String>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Shows the autonomy of goals.
pub fn run(ui: &Ui, args: &GoalAutonomyArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let paths = find_paths(&ui.host, &workspace, args.goal.as_deref())?;
    let files = GoalSource::Disk.files(&workspace);
    let now = ui.host.now();
    let mut goals: Vec<Value> = Vec::new();
    let mut text = String::new();
    for path in paths {
        let (loaded, goal) =
            load::load_goal(ui, &*files, workspace.clone(), &path, ReconciliationPart::Look)?;
        let status = AutonomyStatus::read(ui, &loaded, &goal)?;
        goals.push(status.json(ui));
        text += &autonomy_text(&status, now);
    }
    if args.json {
        let document = json!({"v": 1, "goals": goals});
        ui.print_json(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"))?;
    } else if text.is_empty() {
        ui.print_info("no goals · a goal is a file with `kind: goal` in goals/ or workflows/\n");
    } else {
        ui.print(&text)?;
    }
    Ok(CliExitCode::Ok)
}

fn autonomy_text(status: &AutonomyStatus, now: Moment) -> String {
    let goal = paint(BOLD, status.goal.id.as_str());
    let path = paint(DIM, &status.shown_path);
    let counts = &status.counts;
    let since = counts.period.map_or(String::new(), |(first, _)| format!(" since {}", first.to_second()));
    format!(
        "{goal}  {path}\n  allowed   {}\n  did       {}{since}: {} corrected, {} declined, \
         {} undone · rate {:.3}\n  proposal  {}\n",
        permitted_actions(status, now),
        repairs(status, counts.repairs),
        counts.corrected,
        counts.declined,
        counts.undone,
        counts.rate(),
        proposal(status),
    )
}

/// The permitted actions.
fn permitted_actions(status: &AutonomyStatus, now: Moment) -> String {
    let standing = match &status.approval {
        None => return format!("every {}: its file sets `approval: none`", status.goal.noun()),
        Some(Err(refusal)) => return format!("no {}: {refusal}", status.goal.noun()),
        Some(Ok(standing)) => standing,
    };
    let (executions, used) = (standing.statement.executions, standing.used);
    let until = standing.statement.expires.to_second();
    let extent = format!("{} until {until}, {used} used", repairs(status, executions));
    match standing.state(now) {
        "holds" => extent,
        over => format!("{} · {extent}", paint(WARN, over)),
    }
}

/// The advice, or the reason why there is none.
fn proposal(status: &AutonomyStatus) -> String {
    let Some(advice) = &status.advice else {
        return format!("none: {}", why_none(status));
    };
    let (executions, validity) =
        (repairs(status, advice.new_limits.executions), format_duration(advice.new_limits.validity));
    let direction = paint(WARN, advice.direction.as_str());
    let command = command_text(&status.approval_of(advice.new_limits));
    format!("{direction} to {executions} in {validity}: {}\n            {command}", advice.reason)
}

fn why_none(status: &AutonomyStatus) -> String {
    let (limits, rate) = (&status.thresholds, status.counts.rate());
    if status.standing().is_none() {
        "no approval to change".into()
    } else if status.counts.repairs < limits.min_samples {
        let needed = repairs(status, limits.min_samples);
        format!("requires at least {needed} under such an approval")
    } else if rate > limits.tighten_above {
        "it already allows the minimum".into()
    } else if rate < limits.widen_below {
        "it already allows the maximum".into()
    } else {
        let (low, high) = (limits.widen_below, limits.tighten_above);
        format!("the rate is between {low} and {high}")
    }
}

fn repairs(status: &AutonomyStatus, count: u32) -> String {
    plural(usize::try_from(count).unwrap_or(usize::MAX), status.goal.noun())
}
