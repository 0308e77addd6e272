use std::{thread, time::Duration};

use clap::Args;

use crate::{Ui, commands::running::resume::resume_run};
use wf_app::{
    CliExitCode, CommandError,
    sessions::{OpenedSession, change_session},
};
use wf_base::{
    name::{RunId, SessionName},
    units::plural,
};
use wf_core::session::SessionChange;

/// The interval between two looks at the runs under way.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Suspend a session: no run starts or continues in it until it is resumed
#[derive(Args, Debug)]
#[command(after_help = "\
Runs in progress finish the steps that they have started, and start no others; this command waits
for them. With --now their steps are interrupted, as if the engine had died. `wf resume` continues
such a run once the session is resumed. Approvers can answer requests meanwhile.")]
pub struct SessionSuspendArgs {
    /// Name of the session [default: the current one]
    #[arg(value_name = "NAME")]
    name: Option<SessionName>,
    /// Reason, for the record
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
    /// Interrupt the steps under way
    #[arg(long)]
    now: bool,
}

/// Resume a suspended session and make it the current one
#[derive(Args, Debug)]
pub struct SessionResumeArgs {
    /// Name of the session
    #[arg(value_name = "NAME")]
    name: SessionName,
    /// Resume its runs, too, one after the other
    #[arg(long)]
    runs: bool,
}

/// Suspends a session, and waits until no process works on a run of it.
pub(super) fn suspend(ui: &Ui, args: &SessionSuspendArgs) -> Result<CliExitCode, CommandError> {
    let session = OpenedSession::find(&ui.host, args.name.as_ref())?;
    let name = &session.name;
    let change = SessionChange::Suspend { interrupts: args.now, reason: args.reason.clone() };
    let was_current = session.is_current()?;
    change_session(ui, name, change)?;
    let mut is_told = false;
    loop {
        let live = session.live_runs()?;
        if live.is_empty() {
            break;
        }
        if !is_told {
            is_told = true;
            let short: Vec<&str> = live.iter().map(RunId::short).collect();
            ui.print_info_line(&format!("waiting for the steps under way of {}", short.join(", ")));
        }
        thread::sleep(POLL_INTERVAL);
    }
    let outside = if was_current { "; no session is current" } else { "" };
    ui.print_info_line(&format!("session {name} is suspended{outside}"));
    Ok(CliExitCode::Ok)
}

/// Resumes a session and, if asked to, its runs.
pub(super) fn resume(ui: &Ui, args: &SessionResumeArgs) -> Result<CliExitCode, CommandError> {
    let session = OpenedSession::open(&ui.host, args.name.clone())?;
    change_session(ui, &session.name, SessionChange::Resume)?;
    ui.print_info_line(&format!("session {} is active and current", session.name));
    let rest = session.resting_runs()?;
    if !args.runs {
        for run in &rest {
            ui.print_info_line(&format!("resume it with: wf resume {}", run.short()));
        }
        return Ok(CliExitCode::Ok);
    }
    drop(session);
    ui.print_info_line(&format!("resuming {}", plural(rest.len(), "run")));
    let mut worst = CliExitCode::Ok;
    for run in &rest {
        worst = worst.max(resume_run(ui, run)?);
    }
    Ok(worst)
}
