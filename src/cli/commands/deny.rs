use clap::Args;

use crate::approval::Verdict;
use crate::cli::approve::{AnswerArgs, answer};
use crate::cli::{Exit, Failure, Ui, which};
use crate::store::Reader;

#[derive(Args, Debug)]
#[command(after_help = "\
One no of somebody who may answer is enough. What waits for it fails, and says why.

Examples:
  wf deny 1a2b --reason 'the numbers of May are missing'
  wf deny 1a2b release_ok --yes      of several questions, that of a step")]
pub struct DenyArgs {
    /// The run, by as much of its id as is unique
    #[arg(value_name = "RUN")]
    run: String,
    /// The step that asks, if several do; `run` is the run itself
    #[arg(value_name = "STEP")]
    step: Option<String>,
    #[command(flatten)]
    answer: AnswerArgs,
}

/// Denies what a run asks for.
pub fn run(ui: &Ui, args: &DenyArgs) -> Result<Exit, Failure> {
    let reader = Reader::open(&ui.workspace().state)?;
    let run = which::named(Some(&args.run), &reader)?;
    drop(reader);
    answer(
        ui,
        (&run, args.step.as_deref()),
        Verdict::Denied,
        &args.answer,
    )
}
