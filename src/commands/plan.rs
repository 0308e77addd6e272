use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::skill::usable_skills;
use crate::Ui;
use crate::cassette::CassetteArgs;
use wf_app::authoring::{AuthoringUsage, PlanAuthor, PlanFile, create_plan, replace_plan, require_new};
use wf_app::{Caller as _, CliExitCode, CommandError, normalize_path, relative_path};
use wf_base::units::plural;
use wf_base::untrusted::{BOLD, GOOD, NAME, paint, shell_word};
use wf_report::unified_diff;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf plan \"sort the invoices by month\"                  print a plan
  wf plan \"sort the invoices by month\" --out sort.md    write it
  wf plan --revise sort.md \"also sort by customer\"      print the changes as a diff
  wf plan --revise sort.md \"also sort by customer\" --write

The model with the role `planner` in wf.yaml writes the plan, which must pass `wf check` and obey memory. It gets your \
words, what memory says about it, and the names of the workspace's roles, gates and skills. Nothing is run. Exit code 3 \
if its plan is not accepted.")]
pub struct PlanArgs {
    /// The task in your own words; with --revise, what is to be changed
    #[arg(value_name = "INTENT")]
    intent: String,
    /// Write the plan into this file instead of printing it
    #[arg(long, value_name = "FILE", conflicts_with = "revise")]
    out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "out")]
    force: bool,
    /// Revise this plan, by its file or its id, and print the changes as a diff
    #[arg(long, value_name = "PLAN")]
    revise: Option<PathBuf>,
    /// Write the changes into the plan, too
    #[arg(long, requires = "revise")]
    write: bool,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cassette: CassetteArgs,
}

/// Writes or revises a plan.
pub fn run(ui: &Ui, args: &PlanArgs) -> Result<CliExitCode, CommandError> {
    match &args.revise {
        Some(plan) => revise(ui, args, plan),
        None => write(ui, args),
    }
}

fn write(ui: &Ui, args: &PlanArgs) -> Result<CliExitCode, CommandError> {
    let out = args.out.as_ref().map(|out| normalize_path(&ui.host.cwd().join(out)));
    if let Some(out) = out.as_ref().filter(|_| !args.force) {
        // Found out before it costs anything.
        require_new(&ui.host, out)?;
    }
    // What is only printed is checked as a file in the current folder.
    let path = out.clone().unwrap_or_else(|| ui.host.cwd().join("plan.md"));
    let mut author = author(ui, args, &path)?;
    let done = write_with(ui, args, out.as_deref(), &mut author);
    print_usage(ui, author.usage());
    done
}

fn write_with(
    ui: &Ui,
    args: &PlanArgs,
    out: Option<&Path>,
    author: &mut PlanAuthor<'_>,
) -> Result<CliExitCode, CommandError> {
    let task = author.perceive(&args.intent)?;
    ui.print_info_line(&format!("task {}: {}", paint(NAME, task.task_id.as_str()), task.intent));
    let draft = author.write(&task)?;
    if let Some(out) = out {
        create_plan(&ui.host, out, &draft.text, args.force)?;
    }
    let shown = out.map(|out| relative_path(out, ui.host.cwd()));
    if args.json {
        let mut document = document(author.usage());
        document["task"] = json!(task);
        document["path"] = json!(shown);
        document["plan"] = json!(draft.text);
        ui.print_json(&format!("{document:#}\n"))?;
        return Ok(CliExitCode::Ok);
    }
    ui.diagnostics(&draft.files);
    match shown {
        None => ui.print(&draft.text)?,
        Some(shown) => {
            let word = shell_word(&shown);
            let next = ["check", "run"].map(|command| paint(NAME, &format!("wf {command} {word}")));
            ui.print_line(&format!("{} {shown}", paint(GOOD, "created")))?;
            ui.print(&format!("\n{}\n  {}\n", paint(BOLD, "next"), next.join("\n  ")))?;
        }
    }
    Ok(CliExitCode::Ok)
}

fn revise(ui: &Ui, args: &PlanArgs, plan: &Path) -> Result<CliExitCode, CommandError> {
    let old = PlanFile::read(&ui.host, plan)?;
    let mut author = author(ui, args, &old.path)?;
    let done = revise_with(ui, args, &old, &mut author);
    print_usage(ui, author.usage());
    done
}

fn revise_with(
    ui: &Ui,
    args: &PlanArgs,
    old: &PlanFile,
    author: &mut PlanAuthor<'_>,
) -> Result<CliExitCode, CommandError> {
    let draft = author.revise(old, &args.intent)?;
    let shown = relative_path(&old.path, ui.host.cwd());
    let diff = unified_diff(&shown, &old.text, &draft.text);
    if args.write {
        replace_plan(&ui.host, old, &draft.text)?;
    }
    if args.json {
        let mut document = document(author.usage());
        document["path"] = json!(shown);
        document["diff"] = json!(diff);
        document["written"] = json!(args.write);
        ui.print_json(&format!("{document:#}\n"))?;
        return Ok(CliExitCode::Ok);
    }
    ui.diagnostics(&draft.files);
    ui.print(&diff)?;
    if args.write {
        ui.print_info_line(&format!("{} {shown}", paint(GOOD, "revised")));
    }
    Ok(CliExitCode::Ok)
}

fn author<'a>(ui: &'a Ui, args: &PlanArgs, path: &Path) -> Result<PlanAuthor<'a>, CommandError> {
    PlanAuthor::new(ui, path, usable_skills(ui), args.cassette.open_new(ui)?)
}

fn print_usage(ui: &Ui, usage: AuthoringUsage) {
    if usage.calls > 0 {
        let (calls, tokens) = (plural(usage.calls, "model call"), usage.tokens.total());
        ui.print_info_line(&format!("used {calls}, {tokens} tokens, {}", usage.cost));
    }
}

fn document(usage: AuthoringUsage) -> Value {
    let AuthoringUsage { calls, tokens, cost } = usage;
    json!({"v": 1, "usage": {"calls": calls, "tokens": tokens, "cost_micro_usd": cost.micros()}})
}
