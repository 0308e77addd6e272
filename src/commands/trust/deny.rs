use clap::Args;

use crate::{
    Ui,
    approve::{AnswerArgs, answer_approval},
    which::PendingApprovalArg,
};
use wf_app::{CliExitCode, CommandError, StateReader, approve::AnswerForm};

#[derive(Args, Debug)]
#[command(after_help = "\
One denial by an approver is enough: the waiting step fails with the reason that is given.

Examples:
  wf deny 1a2b --reason 'the numbers of May are missing'
  wf deny --last                     the pending approval of the latest run
  wf deny 1a2b release_ok --yes      one of several pending approvals, by step")]
pub struct DenyArgs {
    #[command(flatten)]
    pub approval: PendingApprovalArg,
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// Denies a pending approval of a run.
pub fn run(ui: &Ui, args: &DenyArgs) -> Result<CliExitCode, CommandError> {
    let (run, step) = args.approval.resolve(&StateReader::from_log(&ui.host.workspace())?)?;
    answer_approval(ui, &run, step, AnswerForm::Denial, &args.answer)
}
