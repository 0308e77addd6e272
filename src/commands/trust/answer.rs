use clap::Args;

use crate::{
    Ui,
    approve::{AnswerArgs, GoingOnArgs, answer_approval},
    keys::SigningArgs,
    which::PendingApprovalArg,
};
use wf_app::{CliExitCode, CommandError, StateReader, approve::AnswerForm};

#[derive(Args, Debug)]
#[command(after_help = "\
An agent with the tool `ask` asks people. The answer is signed like an approval, and approves
nothing. To decline: `wf deny RUN --reason WHY`; the agent continues without an answer.

Examples:
  wf answer 1a2b --text 'the numbers of May'
  wf answer --last --text yes --yes        the latest run, without a confirmation
  wf answer 1a2b report --text yes         one of several questions, by step")]
pub struct AnswerCommandArgs {
    #[command(flatten)]
    pub approval: PendingApprovalArg,
    /// The answer
    #[arg(long, value_name = "TEXT")]
    pub text: String,
    #[command(flatten)]
    pub signing: SigningArgs,
    #[command(flatten)]
    going_on: GoingOnArgs,
}

/// Answers the question of an agent.
pub fn run(ui: &Ui, args: &AnswerCommandArgs) -> Result<CliExitCode, CommandError> {
    let (run, step) = args.approval.resolve(&StateReader::from_log(&ui.host.workspace())?)?;
    let args = AnswerArgs {
        reason: Some(args.text.clone()),
        signing: args.signing.clone(),
        going_on: args.going_on.clone(),
        ..AnswerArgs::default()
    };
    answer_approval(ui, &run, step, AnswerForm::Text, &args)
}
