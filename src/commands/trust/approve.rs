use std::{ffi::OsStr, path::Path};

use clap::Args;

use crate::{
    Ui,
    approve::{
        AnswerArgs, GoingOnArgs, TypedAnswerArgs, answer_approval,
        plan::{self, PlanApprovalArgs},
    },
    commands::agents::skill,
    which,
};
use wf_app::{CliExitCode, CommandError, Host, StateReader, approve::AnswerForm, normalize_path, plans};

#[derive(Args, Debug)]
#[command(after_help = "\
For a plan: shows everything that it does and what changed since its last approval, asks for
confirmation, and signs. The signature covers all texts of the plan, the files it executes, its
parameters, the expiry, and the number of runs. The approval is written beside the plan, to be
committed to git. See docs/approvals.md.

For a run: shows its pending approval, asks for confirmation, and signs the answer. A waiting
`wf run --wait` continues automatically; otherwise run `wf resume RUN`. To reject: `wf deny RUN`.

Examples:
  wf approve plan.md                     only with the default parameters
  wf approve plan.md -p day=2026-11-21   only with these parameters
  wf approve plan.md --any day           every valid value of `day`
  wf approve plan.md --executions 10 --expires 2d
  wf run plan.md --require-approval      run only if approved
  wf approve 1a2b                        the pending approval of run 1a2b
  wf approve --last                      the pending approval of the latest run
  wf approve 1a2b release_ok             one of several pending approvals, by step
  wf approve 1a2b --choose archive       answers with one of the words to choose from
  wf approve 1a2b --edit                 answers with the text as you leave it in your editor
  wf approve 1a2b --select 1,4-9         approves these entries of the list only
  wf approve skill:tables                a locked skill; same as: wf skill approve tables")]
pub struct ApproveArgs {
    /// The plan, by its file or its id, or a run ID or unique prefix (not with --last); of a run
    /// also the step that waits, if several do; `run` is the run itself
    #[arg(value_names = ["PLAN|RUN", "STEP"], num_args = 0..=2)]
    pub names: Vec<String>,
    /// The latest run; a check or a repair that a slot of a goal began counts only where there is
    /// no other
    #[arg(long)]
    pub last: bool,
    /// Reason, for the record (of a run)
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub typed: TypedAnswerArgs,
    #[command(flatten)]
    going_on: GoingOnArgs,
    #[command(flatten)]
    pub plan: PlanApprovalArgs,
}

/// Approves the named plan, by its file or id; any other name is a run.
pub fn run(ui: &Ui, args: &ApproveArgs) -> Result<CliExitCode, CommandError> {
    if let (false, [name]) = (args.last, args.names.as_slice()) {
        if let Some(skill) = name.strip_prefix("skill:") {
            return skill::approve(ui, skill, &args.plan.for_skill());
        }
        if is_plan(&ui.host, name)? {
            if args.reason.is_some() || args.typed.is_given() {
                let message = format!("{name} is a plan: reasons and answers are for runs that wait");
                let hint = "approve the plan without them, or name the run: `wf inbox` lists those that wait";
                return Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
            }
            return plan::approve_plan(ui, Path::new(name), &args.plan);
        }
    }
    if !args.last && args.names.is_empty() {
        let error = CommandError::new(CliExitCode::Usage, "which plan or run?");
        return Err(error.hint("name a plan, a waiting run, or --last for the latest run"));
    }
    let (run, step) = which::split_names(args.last, &args.names)?;
    if let Some(name) = run.filter(|name| !is_run(name)) {
        let error = CommandError::new(CliExitCode::Usage, format!("file not found: {name}"));
        return Err(error.hint("name a plan (see `wf list`) or a waiting run (see `wf runs`)"));
    }
    let run = StateReader::from_log(&ui.host.workspace())?.find_run(run)?;
    let args = AnswerArgs {
        typed: args.typed.clone(),
        going_on: args.going_on.clone(),
        ..args.plan.for_answer(args.reason.as_ref())
    };
    answer_approval(ui, &run, step, AnswerForm::Approval, &args)
}

/// True if a name may be that of a run.
fn is_run(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// True if a name is that of a plan: of its file, or its id unless it may be a run.
fn is_plan(host: &Host, name: &str) -> Result<bool, CommandError> {
    if normalize_path(&host.cwd().join(name)).exists() {
        return Ok(true);
    }
    Ok(!is_run(name) && plans::find_by_id(host, OsStr::new(name))?.is_some())
}
