use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::approve::plan::{self, PlanArgs};
use crate::cli::{Exit, Failure, Ui, normal};

/// Look at a plan, and let it run
#[derive(Args, Debug)]
#[command(after_help = "\
Shows everything that the plan will do and what changed since it was approved last, asks, and signs:
every text of the plan, every file that it executes, its parameters, until when and how often it may
run. The approval is written beside the plan, for git. docs/approvals.md describes it.

Examples:
  wf approve plan.md                     the default parameters alone
  wf approve plan.md -p day=2026-11-21   these parameters alone
  wf approve plan.md --any day           every day that the plan lets pass
  wf approve plan.md --executions 10 --expires 2d
  wf run plan.md --require-approval      runs only what was approved")]
pub struct ApproveArgs {
    /// The plan's file
    #[arg(value_name = "PLAN")]
    what: PathBuf,
    #[command(flatten)]
    plan: PlanArgs,
}

/// Approves what is named: a file is a plan.
pub fn run(ui: &Ui, args: &ApproveArgs) -> Result<Exit, Failure> {
    if !is_file(ui, &args.what) {
        let what = args.what.display();
        let failure = Failure::new(Exit::Usage, format!("there is no file {what}"));
        return Err(failure.hint("name the plan that you want to approve"));
    }
    plan::approve(ui, &args.what, &args.plan)
}

fn is_file(ui: &Ui, what: &Path) -> bool {
    normal(&ui.env.cwd().join(what)).exists()
}
