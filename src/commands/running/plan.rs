use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::{
    Ui,
    cassette::CassetteArgs,
    commands::agents::skill::usable_skills,
    planning_log::{RequestNumber, print_requests},
};
use wf_app::{
    Caller as _, CliExitCode, CommandError,
    authoring::{AuthoringSettings, PlanAuthor, PlanFile, create_plan, replace_plan, require_new},
    normalize_path, relative_path,
};
use wf_base::{
    units::plural,
    untrusted::{BOLD, GOOD, NAME, paint, shell_word},
};
use wf_core::agent::authoring::{AuthoringUsage, PlanningBudget};
use wf_model::{Money, MoneyError};
use wf_report::unified_diff;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf plan \"sort the invoices by month\"                  print a plan
  wf plan \"sort the invoices by month\" --out sort.md    write it
  wf plan --revise sort.md \"also sort by customer\"      print the changes as a diff
  wf plan --revise sort.md \"also sort by customer\" --write
  wf plan \"sort the invoices\" --max-cost 0.50            refuse a call that might exceed it
  wf plan --log                                          list what was asked, and what it cost
  wf plan --log last                                     print what the models got and replied

The model with the role `planner` in wf.yaml writes the plan, which must pass `wf check` and obey
memory. It gets your words, what memory says about it, and the names of the workspace's roles,
gates and skills. Nothing is run. Exit code 3 if its plan is not accepted.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[expect(clippy::option_option, reason = "a flag whose value may be left out")]
pub struct PlanArgs {
    /// The task in your own words; with --revise, what is to be changed
    #[arg(value_name = "INTENT", required_unless_present = "log")]
    intent: Option<String>,
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
    /// Maximum number of tokens: a call that could exceed it is not made
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
    /// Maximum cost in US dollars: a call that could exceed it is not made
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<Money>,
    /// Do not ask: questions of the perceiver stay unanswered
    #[arg(long)]
    no_input: bool,
    /// List the requests for plans, or print the calls of one: its number, or `last`
    #[arg(long, value_name = "NUMBER", num_args = 0..=1,
          conflicts_with_all = ["intent", "out", "revise", "max_tokens", "max_cost", "no_input", "record", "replay"])]
    log: Option<Option<RequestNumber>>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cassette: CassetteArgs,
}

/// Writes or revises a plan.
pub fn run(ui: &Ui, args: &PlanArgs) -> Result<CliExitCode, CommandError> {
    match (&args.log, &args.revise) {
        (Some(number), _) => print_requests(ui, *number, args.json),
        (None, Some(plan)) => revise(ui, args, plan),
        (None, None) => write(ui, args),
    }
}

impl PlanArgs {
    fn wish(&self) -> &str {
        self.intent.as_deref().unwrap_or_default()
    }
}

/// The reason why a text is not a limit of costs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum BadCostLimit {
    #[error(transparent)]
    Money(#[from] MoneyError),
    #[error("0 would prevent every call of a model")]
    Zero,
}

fn dollars(text: &str) -> Result<Money, BadCostLimit> {
    let cost = Money::parse(text)?;
    if cost.is_zero() { Err(BadCostLimit::Zero) } else { Ok(cost) }
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
    let result = write_with(ui, args, out.as_deref(), &mut author);
    end(ui, &mut author, result)
}

/// Records the end of a request, and prints its usage.
fn end(
    ui: &Ui,
    author: &mut PlanAuthor<'_>,
    result: Result<String, CommandError>,
) -> Result<CliExitCode, CommandError> {
    let recorded = author.end(&result);
    print_usage(ui, author.usage());
    result?;
    recorded?;
    Ok(CliExitCode::Ok)
}

fn write_with(
    ui: &Ui,
    args: &PlanArgs,
    out: Option<&Path>,
    author: &mut PlanAuthor<'_>,
) -> Result<String, CommandError> {
    let task = author.perceive(args.wish())?;
    ui.print_info_line(&format!("task {}: {}", paint(NAME, task.task_id.as_str()), task.intent));
    let draft = author.write(&task)?;
    if let Some(out) = out {
        create_plan(&ui.host, out, &draft.text, args.force)?;
    }
    let shown = out.map(|out| relative_path(out, ui.host.cwd()));
    let result = shown.as_ref().map_or_else(|| "printed".to_owned(), |shown| format!("created {shown}"));
    if args.json {
        let mut document = document(author.usage());
        document["task"] = json!(task);
        document["path"] = json!(shown);
        document["plan"] = json!(draft.text);
        ui.print_json(&format!("{document:#}\n"))?;
        return Ok(result);
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
    Ok(result)
}

fn revise(ui: &Ui, args: &PlanArgs, plan: &Path) -> Result<CliExitCode, CommandError> {
    let old_file = PlanFile::read(&ui.host, plan)?;
    let mut author = author(ui, args, &old_file.path)?;
    let result = revise_with(ui, args, &old_file, &mut author);
    end(ui, &mut author, result)
}

fn revise_with(
    ui: &Ui,
    args: &PlanArgs,
    old_file: &PlanFile,
    author: &mut PlanAuthor<'_>,
) -> Result<String, CommandError> {
    let draft = author.revise(old_file, args.wish())?;
    let shown = relative_path(&old_file.path, ui.host.cwd());
    let diff = unified_diff(&shown, &old_file.text, &draft.text);
    if args.write {
        replace_plan(&ui.host, old_file, &draft.text)?;
    }
    let result = if args.write { format!("revised {shown}") } else { "printed the changes".to_owned() };
    if args.json {
        let mut document = document(author.usage());
        document["path"] = json!(shown);
        document["diff"] = json!(diff);
        document["written"] = json!(args.write);
        ui.print_json(&format!("{document:#}\n"))?;
        return Ok(result);
    }
    ui.diagnostics(&draft.files);
    ui.print(&diff)?;
    if args.write {
        ui.print_info_line(&format!("{} {shown}", paint(GOOD, "revised")));
    }
    Ok(result)
}

fn author<'a>(ui: &'a Ui, args: &PlanArgs, path: &Path) -> Result<PlanAuthor<'a>, CommandError> {
    let settings = AuthoringSettings {
        skills: usable_skills(ui),
        cassette: args.cassette.open_new(ui)?,
        budget: PlanningBudget { max_tokens: args.max_tokens, max_cost: args.max_cost },
        may_ask: !args.no_input,
    };
    PlanAuthor::new(ui, path, settings)
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
