//! The daemons of several workspaces: one process for each, leading there as any daemon does, and this one, starting them,
//! starting ended ones again, and passing on signals.
//!
//! **Invariant:** none outlives this process: the system tells each when that has died.

use std::{process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinSet,
    time::Instant,
};

use super::{
    daemon::{LeadHook, system},
    look::backoff_pause,
    waits::{StopSignals, WatchdogTimer},
};
use crate::{
    Caller, CliExitCode, CommandError, Host, daemon_io::systemd::SystemdNotifier, keep::own_program,
};
use wf_base::{time::format_duration, units::plural};

/// The variable with the name of the workspace, at the beginning of the lines of a daemon among several and of its processes.
pub const WORKSPACE_VAR: &str = "WF_LOG_WORKSPACE";

/// The variables for a service manager to speak with this process alone.
const OWN_VARS: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// The time that a daemon has beyond that of its runs to end, before it is killed.
const END_TIME: Duration = Duration::from_secs(10);

/// The time after which an ended daemon has worked, so it is started again at once.
const WORKED: Duration = Duration::from_mins(2);

/// A workspace with goals to run.
#[derive(Clone)]
pub struct DaemonWorkspace {
    /// Its name in the log.
    pub name: String,
    pub host: Host,
}

/// Something that happens to a daemon, by the number of its workspace.
enum PartEvent {
    /// It ended, with an exit code unless a signal ended it.
    Ended(usize, Option<i32>),
    /// It is to be started again.
    Due(usize),
}

/// A daemon of a workspace.
#[derive(Clone, Copy)]
struct PartState {
    /// Its process; `None`: it does not run.
    pid: Option<Pid>,
    since: Instant,
    /// The number of its ends in a row soon after its start.
    failures: u32,
}

/// The daemons of several workspaces.
struct SeveralDaemons<'a> {
    caller: &'a dyn Caller,
    workspaces: &'a [DaemonWorkspace],
    /// The words of the command line of each.
    words: &'a [String],
    /// The time that their runs have to end.
    drain: Duration,
    parts: Vec<PartState>,
    events: JoinSet<PartEvent>,
}

/// Runs a daemon for each workspace until asked to exit. `words` are the options of each; `drain` is the time that the runs of
/// each have to end then.
pub fn run_several(
    caller: &dyn Caller,
    workspaces: &[DaemonWorkspace],
    words: &[String],
    drain: Duration,
    on_start: LeadHook<'_>,
) -> Result<CliExitCode, CommandError> {
    let notify = SystemdNotifier::new(caller.host().var("NOTIFY_SOCKET")).map_err(|error| system(&error))?;
    on_start()?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| system(&error))?;
    let idle = PartState { pid: None, since: Instant::now(), failures: 0 };
    let parts = vec![idle; workspaces.len()];
    let daemons = SeveralDaemons { caller, workspaces, words, drain, parts, events: JoinSet::new() };
    // The system tells a process of the death of the thread that started it: this one starts them all, and lives as long as
    // this process.
    let ended = runtime.block_on(daemons.run(&notify));
    runtime.shutdown_background();
    ended
}

/// Ends this process, as if it was asked to exit, when its parent dies.
pub fn end_with_parent(parent: u32) -> Result<(), CommandError> {
    set_parent_process_death_signal(Some(Signal::TERM))
        .map_err(|error| system(&std::io::Error::from(error)))?;
    let is_there = getppid().is_some_and(|own| u32::try_from(own.as_raw_nonzero().get()) == Ok(parent));
    if is_there {
        return Ok(());
    }
    Err(CommandError::new(CliExitCode::State, "the process that started this daemon has ended"))
}

impl SeveralDaemons<'_> {
    async fn run(mut self, notify: &SystemdNotifier) -> Result<CliExitCode, CommandError> {
        let (mut stop, mut alive) = (StopSignals::listen()?, WatchdogTimer::of(self.caller));
        let mut reload = signal(SignalKind::hangup()).map_err(|error| system(&error))?;
        let (mut is_stopping, mut deadline) = (false, None::<Instant>);
        for number in 0..self.parts.len() {
            self.start(number);
        }
        let _ = notify.ready(&format!("daemons of {}", plural(self.parts.len(), "workspace")));
        loop {
            if is_stopping && self.parts.iter().all(|part| part.pid.is_none()) {
                return Ok(CliExitCode::Ok);
            }
            tokio::select! {
                () = stop.exit_requested() => {
                    // Each ends by the rules of a daemon: at the first request in its time, at the second one soon.
                    let time = if is_stopping { END_TIME } else { self.drain + END_TIME };
                    deadline = Some(Instant::now() + time);
                    is_stopping = true;
                    let _ = notify.stopping();
                    self.signal_all(Signal::TERM);
                }
                _ = reload.recv() => self.signal_all(Signal::HUP),
                () = alive.next() => drop(notify.keep_alive()),
                () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    deadline = None;
                    self.kill_all();
                }
                Some(event) = self.events.join_next() => match event {
                    Ok(PartEvent::Ended(number, code)) => self.note_end(number, code, is_stopping),
                    Ok(PartEvent::Due(number)) if !is_stopping => self.start(number),
                    Ok(PartEvent::Due(_)) | Err(_) => {}
                },
            }
        }
    }

    /// Starts the daemon of a workspace; where that fails, later.
    fn start(&mut self, number: usize) {
        let (Some(workspace), Some(part)) = (self.workspaces.get(number), self.parts.get_mut(number)) else {
            return;
        };
        part.since = Instant::now();
        let started = self.command(workspace).spawn();
        match started {
            Ok(mut child) => {
                if let Some(part) = self.parts.get_mut(number) {
                    part.pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                }
                self.events.spawn_blocking(move || {
                    PartEvent::Ended(number, child.wait().ok().and_then(|status| status.code()))
                });
            }
            Err(error) => {
                let folder = workspace.host.cwd().display().to_string();
                self.retry(number, &format!("its daemon cannot be started in {folder}: {error}"));
            }
        }
    }

    fn command(&self, workspace: &DaemonWorkspace) -> std::process::Command {
        #[expect(clippy::disallowed_methods, reason = "this is wf itself, which ends with this process")]
        let mut command = std::process::Command::new(own_program());
        command.args(self.words).args(["--parent", &std::process::id().to_string()]);
        if self.workspaces.len() > 1 {
            command.env(WORKSPACE_VAR, &workspace.name);
        }
        for name in OWN_VARS {
            command.env_remove(name);
        }
        // An interrupt at the terminal reaches this process alone, which passes it on.
        command.current_dir(workspace.host.cwd()).stdin(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }

    /// Notes the end of a daemon, and starts it again unless all are asked to exit.
    fn note_end(&mut self, number: usize, code: Option<i32>, is_stopping: bool) {
        let Some(part) = self.parts.get_mut(number) else { return };
        part.pid = None;
        if part.since.elapsed() > WORKED {
            part.failures = 0;
        }
        if !is_stopping {
            let end = code.map_or("by a signal".to_owned(), |code| format!("with exit code {code}"));
            self.retry(number, &format!("its daemon ended {end}"));
        }
    }

    fn retry(&mut self, number: usize, reason: &str) {
        let Some(part) = self.parts.get_mut(number) else { return };
        part.failures += 1;
        let pause = backoff_pause(part.failures);
        let name = self.workspaces.get(number).map_or("", |workspace| workspace.name.as_str());
        let pause_text = format_duration(pause);
        self.caller
            .message_line(&format!("workspace {name} · {reason}; it is started again in {pause_text}"));
        self.events.spawn(async move {
            tokio::time::sleep(pause).await;
            PartEvent::Due(number)
        });
    }

    /// Ends the daemons that hang: they would hold up the end of the others.
    fn kill_all(&self) {
        for (part, workspace) in self.parts.iter().zip(self.workspaces) {
            if let Some(pid) = part.pid {
                let name = &workspace.name;
                self.caller
                    .message_line(&format!("workspace {name} · its daemon does not end; it is killed"));
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    fn signal_all(&self, what: Signal) {
        for pid in self.parts.iter().filter_map(|part| part.pid) {
            let _ = kill_process(pid, what);
        }
    }
}
