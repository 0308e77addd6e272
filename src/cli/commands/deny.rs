use clap::Args;

use crate::approval::Verdict;
use crate::cli::approve::{AnswerArgs, answer};
use crate::cli::which::AskArg;
use crate::cli::{Exit, Failure, Ui};
use crate::store::Reader;

#[derive(Args, Debug)]
#[command(after_help = "\
One no of somebody who may answer is enough. What waits for it fails, and says why.

Examples:
  wf deny 1a2b --reason 'the numbers of May are missing'
  wf deny --last                     what the latest run asks
  wf deny 1a2b release_ok --yes      of several questions, that of a step")]
pub struct DenyArgs {
    #[command(flatten)]
    ask: AskArg,
    #[command(flatten)]
    answer: AnswerArgs,
}

/// Denies what a run asks for.
pub fn run(ui: &Ui, args: &DenyArgs) -> Result<Exit, Failure> {
    let reader = Reader::from_log(&ui.workspace().state)?;
    let (run, step) = args.ask.resolve(&reader)?;
    drop(reader);
    answer(ui, (&run, step), Verdict::Denied, &args.answer)
}
