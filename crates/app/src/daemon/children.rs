use crate::Caller;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tokio::task::JoinSet;

use super::look::DueReconciliation;
use crate::{CliExitCode, CommandError, keep};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};

/// The purpose of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildPurpose {
    /// A reconciliation for a scheduled time.
    Slot(DueReconciliation),
    /// A reconciliation of a dead process.
    Adopt(RunId),
    /// A reconciliation of a goal to be cancelled, by its last run.
    Cancel(String, RunId),
    /// A run to be resumed, since what it waits for is answered or over.
    Resume(RunId),
    /// Notifications to be sent.
    Notify,
    /// The record of a deployed goal, which is kept up to date.
    Sync(PlanId),
}

/// The running child processes.
#[derive(Debug, Default)]
pub struct ChildProcesses {
    running: Vec<(ChildPurpose, Pid)>,
    exits: JoinSet<(ChildPurpose, Option<i32>)>,
}

/// An exited process.
#[derive(Debug)]
pub struct ChildExit {
    pub purpose: ChildPurpose,
    /// The exit code; `None`: a signal ended it.
    pub code: Option<i32>,
}

/// The context of starts of reconciliations.
pub struct SpawnContext<'a> {
    /// The output and the environment.
    pub caller: &'a dyn Caller,
    /// The token of the daemon.
    pub token: u64,
    /// The commit of the goals.
    pub commit: Option<&'a str>,
    /// The simulated time, where it is not the clock's.
    pub now: Option<Moment>,
    /// True if the records of deployed goals are followed.
    pub follows: bool,
    /// The goal the process works for.
    pub goal: Option<&'a str>,
}

impl ChildProcesses {
    /// The number of processes working on reconciliations.
    pub fn work_count(&self) -> usize {
        let is_other = |purpose: &ChildPurpose| {
            matches!(purpose, ChildPurpose::Sync(_) | ChildPurpose::Notify | ChildPurpose::Resume(_))
        };
        self.running.iter().filter(|(purpose, _)| !is_other(purpose)).count()
    }

    /// True if there is a process that comes to an end by itself.
    pub fn is_busy(&self) -> bool {
        self.any(|purpose| !matches!(purpose, ChildPurpose::Sync(_)))
    }

    /// True if there is no process at all.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Asks those that record what happens elsewhere to exit: it goes on there.
    pub fn leave_deployed_goals(&self) {
        for (_, pid) in self.running.iter().filter(|(purpose, _)| matches!(purpose, ChildPurpose::Sync(_))) {
            let _ = kill_process(*pid, Signal::TERM);
        }
    }

    pub fn runs_for(&self, purpose: &ChildPurpose) -> bool {
        self.running.iter().any(|(other, _)| other == purpose)
    }

    /// True if one matches.
    pub fn any(&self, wanted: impl Fn(&ChildPurpose) -> bool) -> bool {
        self.running.iter().any(|(purpose, _)| wanted(purpose))
    }

    pub fn start(&mut self, context: &SpawnContext<'_>, purpose: ChildPurpose) -> Result<(), CommandError> {
        let mut command = context.command(&purpose);
        let mut child = command.spawn().map_err(|error| {
            let message = format!("cannot start a process: {error}");
            CommandError::new(CliExitCode::State, message)
        })?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let Some(pid) = pid else {
            return Err(CommandError::new(CliExitCode::Bug, "a process has no id"));
        };
        self.running.push((purpose.clone(), pid));
        self.exits.spawn_blocking(move || {
            let code = child.wait().ok().and_then(|status| status.code());
            (purpose, code)
        });
        Ok(())
    }

    /// Waits until one exits; forever if there is none.
    pub async fn next_exit(&mut self) -> ChildExit {
        loop {
            match self.exits.join_next().await {
                Some(Ok((errand, code))) => {
                    let at = self.running.iter().position(|(other, _)| *other == errand);
                    if let Some(at) = at {
                        self.running.swap_remove(at);
                    }
                    return ChildExit { purpose: errand, code };
                }
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Asks the process of a reconciliation to exit, if any: by its scheduled time, or by its first run.
    pub fn cancel(&self, wanted: impl Fn(&ChildPurpose) -> bool) -> bool {
        let child = self.running.iter().find(|(purpose, _)| wanted(purpose));
        child.is_some_and(|(_, pid)| kill_process(*pid, Signal::TERM).is_ok())
    }

    /// Asks all to exit but those that resume runs of people: these outlive a daemon.
    pub fn cancel_all(&self) {
        let own = self.running.iter().filter(|(purpose, _)| !matches!(purpose, ChildPurpose::Resume(_)));
        for (_, pid) in own {
            let _ = kill_process(*pid, Signal::TERM);
        }
    }
}

impl SpawnContext<'_> {
    fn command(&self, purpose: &ChildPurpose) -> Command {
        let mut command = keep::own_command(self.caller.host());
        command.arg(self.goal.map_or("--service-log".to_owned(), |goal| format!("--service-log={goal}")));
        match purpose {
            ChildPurpose::Slot(start) => {
                command.args(["goal", "run", &start.path]);
                command.args(["--slot", &start.slot.to_string()]);
                command.args(["--cause", start.cause.as_str()]);
                command.args(["--token", &self.token.to_string()]);
                if let Some(commit) = self.commit {
                    command.args(["--commit", commit]);
                }
            }
            ChildPurpose::Adopt(run) => {
                command.args(["goal", "run", "--cycle", run.as_str()]);
            }
            ChildPurpose::Resume(run) => {
                // A pipe would break when the daemon exits, and what a run prints is in its record.
                command.args(["resume", "--if-due", run.as_str()]).stdout(Stdio::null());
            }
            ChildPurpose::Cancel(_, run) => {
                command.args(["cancel", run.as_str()]);
            }
            ChildPurpose::Notify => {
                command.args(["goal", "tell"]);
            }
            ChildPurpose::Sync(goal) => {
                command.args(["goal", "sync", goal.as_str()]);
                command.args(self.follows.then_some("--follow"));
            }
        }
        if let Some(now) = self.now {
            command.env("WF_NOW", now.to_string()).env_remove("WF_WARP");
        }
        command
    }
}
