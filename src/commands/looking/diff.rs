use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::Args;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError, GitRevision, RunOptions, StateReader,
    approve::workspace_settings,
    load::{self, LoadedPlan},
    normalize_path, views,
};
use wf_base::units::plural;
use wf_core::goal::ReconciliationPart;
use wf_report::{
    consent::PlanSummary,
    diff::{ChangeDirection, PlanDiff, diff},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf diff plan.md                      what changed since the last commit
  wf diff main plan.md                 what changed since another revision
  wf diff v1:ops/plan.md v2:ops/plan.md
  wf diff old.md new.md --json         for a program
  wf diff 1a2b 3c4d                    the differences between two runs
  wf diff --last                       the latest run and the previous run of its plan

Changes that permit more, or check less, come first. Exit code 1 if the meaning differs. A path
after `:` is relative to the top level of the repository; with ./, to the current directory. The
arguments are runs if the last one is a prefix of a run ID and no file. Exit code 1 if more than
times differ.")]
pub struct DiffArgs {
    /// Version before: a file, REV:PATH, or a revision; with one argument, the plan itself. Or a run, compared with B, or
    /// with the run of its plan before it
    #[arg(value_name = "A", required_unless_present = "last")]
    before: Option<String>,
    /// Version after: a file, or REV:PATH; or a run
    #[arg(value_name = "B", conflicts_with = "last")]
    after: Option<String>,
    /// The latest run, compared with run A, or with the run of its plan before it
    #[arg(long)]
    last: bool,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Compares two versions, or two runs.
pub fn run(ui: &Ui, args: &DiffArgs) -> Result<CliExitCode, CommandError> {
    let names = [&args.before, &args.after].map(Option::as_deref);
    let (before, after) = match names {
        [other, None] if args.last => return compare_runs(ui, other, None, args.json),
        [Some(run), None] if is_run_prefix(ui, run) => return compare_runs(ui, None, Some(run), args.json),
        [other, Some(run)] if is_run_prefix(ui, run) => return compare_runs(ui, other, Some(run), args.json),
        [Some(before), Some(after)] => (before, after),
        [plan, _] => ("HEAD", plan.unwrap_or_default()),
    };
    let new = version(ui, after, None)?;
    let old = version(ui, before, Some(after))?;
    let diff = diff(&meaning(&old), &meaning(&new));
    let bytes = differing(&old, &new);
    if args.json {
        ui.print_json(&diff.json(bytes.is_empty()))?;
    } else {
        ui.print(&diff.text())?;
        ui.print(&ending(&diff, &bytes))?;
    }
    Ok(if diff.is_empty() { CliExitCode::Ok } else { CliExitCode::RunFailed })
}

/// True if a name can only be meant as the beginning of a run's id.
fn is_run_prefix(ui: &Ui, name: &str) -> bool {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    name.bytes().all(is_hex) && !normalize_path(&ui.host.cwd().join(name)).exists()
}

/// Compares a run, the latest one if none is named, with another one.
fn compare_runs(
    ui: &Ui,
    other: Option<&str>,
    run: Option<&str>,
    is_json: bool,
) -> Result<CliExitCode, CommandError> {
    let reader = StateReader::open(&ui.host.workspace())?;
    let run = reader.find_run(run)?;
    let other = match other {
        Some(other) => reader.find_run(Some(other))?,
        None => views::run_before(&reader, &run)?.ok_or_else(|| {
            let message = format!("no run of the same plan was recorded before run {}", run.short());
            CommandError::new(CliExitCode::Usage, message)
                .hint("name the run to compare with: wf diff RUN RUN")
        })?,
    };
    let diff = views::run_diff_of(&reader, &other, &run)?;
    if is_json {
        ui.print_json(&diff.json())?;
    } else {
        ui.print(&diff.text())?;
    }
    Ok(if diff.is_same() { CliExitCode::Ok } else { CliExitCode::RunFailed })
}

/// Reads a version by its name on the command line; `plan` is the plan of a bare revision.
fn version(ui: &Ui, name: &str, plan: Option<&str>) -> Result<LoadedPlan, CommandError> {
    let cwd = ui.host.cwd();
    let is_file = normalize_path(&cwd.join(name)).exists();
    let (revision, path) = match (name.split_once(':'), plan) {
        _ if is_file => return load::load_for_review(ui, Path::new(name)),
        (Some((revision, path)), _) => (revision, path.to_owned()),
        (None, Some(plan)) => (name, here(plan)),
        (None, None) => return load::load_for_review(ui, Path::new(name)),
    };
    let mut files = GitRevision::find(cwd, &ui.host.workspace().state, revision, &ui.host.vars())?;
    let path = files.select_file(&path, cwd)?;
    let workspace = files.workspace();
    let loaded = load::load_plan(
        ui,
        &files,
        workspace,
        path.clone(),
        RunOptions::at_present(&ui.host, None).of_goal(ReconciliationPart::Repair),
    );
    if loaded.is_err() {
        ui.print_message_line(&format!("this is {path} at {revision}"));
    }
    loaded
}

/// The path of the plan of a bare revision, relative to the current folder.
fn here(plan: &str) -> String {
    match plan.split_once(':') {
        Some((_, path)) => path.to_owned(),
        None => PathBuf::from("./").join(plan).display().to_string(),
    }
}

fn meaning(plan: &LoadedPlan) -> PlanSummary {
    let goal = plan.goal.as_ref().map(|goal_plan| &*goal_plan.goal);
    PlanSummary::of_plan(&plan.plan, &plan.path)
        .add_goal_if_any(goal)
        .add_workspace_settings(&workspace_settings(plan))
}

/// The files with any different byte. The name of the plan itself does not matter.
fn differing(old_plan: &LoadedPlan, new_plan: &LoadedPlan) -> Vec<String> {
    let texts = |plan: &LoadedPlan| -> BTreeMap<String, String> {
        let named = plan.sources.iter().map(|(path, text)| {
            let own = *path == plan.path;
            let name = if own { new_plan.path.clone() } else { path.clone() };
            (name, text.clone())
        });
        named.collect()
    };
    let (old, new) = (texts(old_plan), texts(new_plan));
    let mut names: Vec<String> = old.keys().chain(new.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names.retain(|name| old.get(name) != new.get(name));
    names
}

fn ending(diff: &PlanDiff, bytes: &[String]) -> String {
    if bytes.is_empty() && diff.is_empty() {
        return "identical\n".into();
    }
    if diff.is_empty() {
        let files = bytes.join(", ");
        return format!(
            "same meaning, but the files differ ({files}): an approval of one is not valid for the other\n"
        );
    }
    let count = diff.changes.len();
    let loose = diff.changes.iter().filter(|change| change.direction == ChangeDirection::Looser);
    format!("{}, {} of them wider, weaker or more\n", plural(count, "change"), loose.count())
}
