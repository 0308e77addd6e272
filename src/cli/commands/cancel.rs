use clap::Args;
use rustix::process::{Pid, Signal, kill_process};

use super::resume;
use crate::cli::{Exit, Failure, RunArg, Ui};
use crate::store::{Lease, Reader, RunState};

#[derive(Args, Debug)]
#[command(after_help = "\
The process that works on the run is told and does the rest. Where that process died, the run is
brought to its end here.")]
pub struct CancelArgs {
    #[command(flatten)]
    run: RunArg,
}

/// Cancels a run.
pub fn run(ui: &Ui, args: &CancelArgs) -> Result<Exit, Failure> {
    let reader = Reader::from_log(&ui.workspace().state)?;
    let mut run = args.run.resolve(&reader)?;
    while let Some((above, _)) = reader.run(&run)?.parent {
        run = above;
    }
    if let RunState::Ended(outcome) = reader.run(&run)?.state {
        let message = format!(
            "run {} has ended already: {}",
            run.short(),
            outcome.as_str()
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    let lease = reader.owners(&run)?.pop().filter(|lease| !lease.lapsed);
    drop(reader);
    match lease {
        // There its number may be that of anybody here.
        Some(lease) if !lease.near => {
            let message = format!("run {} is worked on by {lease}", run.short());
            Err(Failure::new(Exit::Usage, message).hint("cancel it there, or when that ended"))
        }
        Some(Lease { pid, .. }) => {
            signal(pid)?;
            ui.note_line(&format!(
                "run {} was told to end (process {pid})",
                run.short()
            ));
            Ok(Exit::Ok)
        }
        None => resume::cancel_dead(ui, &run),
    }
}

fn signal(pid: u32) -> Result<(), Failure> {
    let told = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or(rustix::io::Errno::SRCH)
        .and_then(|pid| kill_process(pid, Signal::TERM));
    told.map_err(|error| {
        let message = format!("process {pid}, which works on the run, cannot be told: {error}");
        Failure::new(Exit::Usage, message)
    })
}
