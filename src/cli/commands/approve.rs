use std::path::{Path, PathBuf};

use clap::Args;

use super::skill;
use crate::approval::Verdict;
use crate::cli::approve::answer;
use crate::cli::approve::plan::{self, PlanArgs};
use crate::cli::{Exit, Failure, Ui, normal, which};
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
  wf approve 1a2b release_ok             of several questions, that of a step
  wf approve skill:tables                a skill that is locked: wf skill approve tables")]
pub struct ApproveArgs {
    /// The plan's file, or the run by as much of its id as is unique
    #[arg(value_name = "PLAN|RUN")]
    what: PathBuf,
    /// Of a run: the step that asks, if several do; `run` is the run itself
    #[arg(value_name = "STEP")]
    step: Option<String>,
    /// Of a run: why, for the record
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    plan: PlanArgs,
}

/// Approves what is named: a file is a plan, everything else a run.
pub fn run(ui: &Ui, args: &ApproveArgs) -> Result<Exit, Failure> {
    let (what, step) = (&args.what, args.step.as_deref());
    if let Some(name) = what.to_str().and_then(|what| what.strip_prefix("skill:")) {
        return skill::approve(ui, name, &args.plan.sign());
    }
    if is_file(ui, what) && step.is_none() && args.reason.is_none() {
        return plan::approve(ui, what, &args.plan);
    }
    let name = what.display().to_string();
    if !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let failure = Failure::new(Exit::Usage, format!("there is no file {name}"));
        return Err(failure.hint("name a plan, or a run that waits: `wf runs` lists them"));
    }
    let reader = Reader::open(&ui.workspace().state)?;
    let run = which::named(Some(&name), &reader)?;
    drop(reader);
    let given = args.plan.answer(args.reason.as_ref());
    answer(ui, (&run, step), Verdict::Approved, &given)
}

fn is_file(ui: &Ui, what: &Path) -> bool {
    normal(&ui.env.cwd().join(what)).exists()
}
