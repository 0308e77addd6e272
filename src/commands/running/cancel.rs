use clap::Args;
use rustix::process::{Pid, Signal, kill_process};

use super::resume;
use crate::{RunArg, Ui};
use wf_app::{
    CliExitCode, CommandError,
    resume::{CancelledRun, await_leave},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Asks the process that executes the run to cancel it. If that process has died, this command
finishes the run.")]
pub struct CancelArgs {
    #[command(flatten)]
    pub run: RunArg,
}

/// Cancels a run.
pub fn run(ui: &Ui, args: &CancelArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    match CancelledRun::find(&workspace, args.run.prefix())? {
        CancelledRun::Followed { run, pid } => {
            signal(pid)?;
            await_leave(&workspace, &run)?;
            resume::cancel_dead(ui, &run)
        }
        CancelledRun::Executed { run, pid } => {
            signal(pid)?;
            ui.print_info_line(&format!("run {}: sent SIGTERM to process {pid}", run.short()));
            Ok(CliExitCode::Ok)
        }
        CancelledRun::Idle(run) => resume::cancel_dead(ui, &run),
    }
}

fn signal(pid: u32) -> Result<(), CommandError> {
    let signalled = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or(rustix::io::Errno::SRCH)
        .and_then(|pid| kill_process(pid, Signal::TERM));
    signalled.map_err(|error| {
        let message = format!("cannot send SIGTERM to process {pid}, which executes the run: {error}");
        CommandError::new(CliExitCode::Usage, message)
    })
}
