use std::time::Duration;

use clap::Args;
use rustix::process::{Pid, Signal, kill_process};

use super::resume;
use crate::{RunArg, Ui};
use wf_app::backend::is_of_deployment;
use wf_app::{CliExitCode, CommandError};
use wf_base::name::RunId;
use wf_store::{RunLease, RunState, StoreReader};

/// The pause between two looks whether a run was left, and their number.
const LEAVE_POLL: Duration = Duration::from_millis(50);
const LEAVE_POLLS: usize = 200;

#[derive(Args, Debug)]
#[command(after_help = "\
Asks the process that executes the run to cancel it. If that process has died, this command
finishes the run.")]
pub struct CancelArgs {
    #[command(flatten)]
    run: RunArg,
}

/// Cancels a run.
pub fn run(ui: &Ui, args: &CancelArgs) -> Result<CliExitCode, CommandError> {
    let reader = StoreReader::from_log(&ui.host.workspace().state)?;
    let mut run = args.run.resolve(&reader)?;
    while let Some((above, _)) = reader.run(&run)?.parent {
        run = above;
    }
    if let RunState::Ended(outcome) = reader.run(&run)?.state {
        let message = format!("run {} has already finished: {}", run.short(), outcome.as_str());
        return Err(CommandError::new(CliExitCode::Usage, message));
    }
    let lease = reader.owners(&run)?.pop().filter(|lease| !lease.may_be_taken);
    let is_left = is_of_deployment(&reader.config(&run)?);
    match lease {
        // Its process id is from elsewhere, and may be that of any process here.
        Some(lease) if !lease.is_local => {
            let message = format!("run {} is executed by {lease}", run.short());
            Err(CommandError::new(CliExitCode::Usage, message)
                .hint("cancel it there, or after that process has exited"))
        }
        Some(RunLease { pid, .. }) if is_left => {
            signal(pid)?;
            wait_for_lease(&reader, &run)?;
            resume::cancel_dead(ui, &run)
        }
        Some(RunLease { pid, .. }) => {
            signal(pid)?;
            ui.print_info_line(&format!("run {}: sent SIGTERM to process {pid}", run.short()));
            Ok(CliExitCode::Ok)
        }
        None => resume::cancel_dead(ui, &run),
    }
}

/// Waits until the process that follows a run of a deployed goal has left it, which it does at a signal.
fn wait_for_lease(reader: &StoreReader, run: &RunId) -> Result<(), CommandError> {
    for _ in 0..LEAVE_POLLS {
        if reader.owners(run)?.pop().is_none_or(|lease| lease.may_be_taken) {
            return Ok(());
        }
        std::thread::sleep(LEAVE_POLL);
    }
    let message = format!("run {} is still followed by the process that was asked to leave it", run.short());
    Err(CommandError::new(CliExitCode::State, message).hint("try again"))
}

fn signal(pid: u32) -> Result<(), CommandError> {
    let told = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or(rustix::io::Errno::SRCH)
        .and_then(|pid| kill_process(pid, Signal::TERM));
    told.map_err(|error| {
        let message = format!("cannot send SIGTERM to process {pid}, which executes the run: {error}");
        CommandError::new(CliExitCode::Usage, message)
    })
}
