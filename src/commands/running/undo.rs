use clap::Args;

use crate::{
    RunArg, Ui,
    approve::ApprovalArgs,
    cassette::CassetteArgs,
    execute::{OutputArgs, start_run},
};
use wf_app::{CliExitCode, CommandError, StateReader, undo::undo_start};
use wf_base::name::RunId;

#[derive(Args, Debug)]
#[command(after_help = "\
A plan with `undo` names the plan that undoes it, and the time in which that is possible: 5
minutes by default. The parameters were recorded when the run ended, and the plan runs as it was
recorded then, as a run of its own, with the approval that it needs.

Examples:
  wf undo --last    undo the latest run
  wf undo 1a2b      undo this run; it may be nested in another one

`wf show` says until when a run can be undone. Later, write a plan that restores what it changed.")]
pub struct UndoArgs {
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    approval: ApprovalArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Undoes a run.
pub fn run(ui: &Ui, args: &UndoArgs) -> Result<CliExitCode, CommandError> {
    let undone = args.run.resolve(&StateReader::from_whole_log(&ui.host.workspace())?)?;
    loop {
        if let Some(exit) = try_undo(ui, args, &undone)? {
            return Ok(exit);
        }
    }
}

/// Starts the undoing run of another one; `None` if another run took the next use of the approval.
fn try_undo(ui: &Ui, args: &UndoArgs, undone: &RunId) -> Result<Option<CliExitCode>, CommandError> {
    let start = undo_start(ui, undone)?;
    let announcement = format!("undoes run {}\n", undone.short());
    start_run(ui, start, &announcement, &args.approval, &args.output, &CassetteArgs::default())
}
