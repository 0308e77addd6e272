use std::ffi::OsStr;
use std::path::Path;

use clap::Args;

use super::skill;
use crate::approval::Verdict;
use crate::cli::approve::answer;
use crate::cli::approve::plan::{self, PlanArgs};
use crate::cli::{Exit, Failure, Ui, normal, plans, which};
use crate::store::Reader;

#[derive(Args, Debug)]
#[command(after_help = "\
Of a plan: shows everything that it will do and what changed since it was approved last, asks, and
signs: every text of the plan, every file that it executes, its parameters, until when and how often
it may run. The approval is written beside the plan, for git. docs/approvals.md describes it.

Of a run: shows what it asks, asks you, and signs the answer. Whoever works on the run goes on by
itself; if nobody does, `wf resume RUN` does. `wf deny RUN` is the other answer.

Examples:
  wf approve plan.md                     the default parameters alone
  wf approve plan.md -p day=2026-11-21   these parameters alone
  wf approve plan.md --any day           every day that the plan lets pass
  wf approve plan.md --executions 10 --expires 2d
  wf run plan.md --require-approval      runs only what was approved
  wf approve 1a2b                        what run 1a2b asks
  wf approve --last                      what the latest run asks
  wf approve 1a2b release_ok             of several questions, that of a step
  wf approve skill:tables                a skill that is locked: wf skill approve tables")]
pub struct ApproveArgs {
    /// The plan, by its file or its id, or the run by as much of its id as is unique (not with
    /// --last); of a run also the step that asks, if several do; `run` is the run itself
    #[arg(value_names = ["PLAN|RUN", "STEP"], num_args = 0..=2)]
    names: Vec<String>,
    /// The latest run
    #[arg(long)]
    last: bool,
    /// Of a run: why, for the record
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    plan: PlanArgs,
}

/// Approves what is named: a file or the id of a plan, everything else is a run.
pub fn run(ui: &Ui, args: &ApproveArgs) -> Result<Exit, Failure> {
    if let (false, [name]) = (args.last, args.names.as_slice()) {
        if let Some(skill) = name.strip_prefix("skill:") {
            return skill::approve(ui, skill, &args.plan.sign());
        }
        if args.reason.is_none() && is_plan(ui, name)? {
            return plan::approve(ui, Path::new(name), &args.plan);
        }
    }
    if !args.last && args.names.is_empty() {
        let failure = Failure::new(Exit::Usage, "which plan or run?");
        return Err(failure.hint("name a plan, a run that waits, or --last: the latest run"));
    }
    let (run, step) = which::split(args.last, &args.names)?;
    if let Some(name) = run.filter(|name| !is_run(name)) {
        let failure = Failure::new(Exit::Usage, format!("there is no file {name}"));
        return Err(failure.hint(
            "name a plan, which `wf list` lists, or a run that waits, which `wf runs` lists",
        ));
    }
    let reader = Reader::from_log(&ui.workspace().state)?;
    let run = which::named(run, &reader)?;
    drop(reader);
    let given = args.plan.answer(args.reason.as_ref());
    answer(ui, (&run, step), Verdict::Approved, &given)
}

/// Whether a name may be that of a run.
fn is_run(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a name is that of a plan: of its file, or its id unless it may be a run.
fn is_plan(ui: &Ui, name: &str) -> Result<bool, Failure> {
    if normal(&ui.env.cwd().join(name)).exists() {
        return Ok(true);
    }
    Ok(!is_run(name) && plans::by_id(ui, OsStr::new(name))?.is_some())
}
