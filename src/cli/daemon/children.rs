use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tokio::task::JoinSet;

use super::look::Start;
use crate::cli::{Exit, Failure, Ui, keep};
use crate::name::RunId;
use crate::time::Moment;

/// What a process was started for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Errand {
    /// A cycle for a slot.
    Slot(Start),
    /// A cycle whose process died.
    Adopt(RunId),
    /// A cycle that is to be cancelled.
    Cancel(RunId),
    /// People are to be told something.
    Tell,
}

/// The processes that were started and have not ended.
#[derive(Debug, Default)]
pub struct Children {
    running: Vec<(Errand, Pid)>,
    waits: JoinSet<(Errand, Option<i32>)>,
}

/// A process that ended.
#[derive(Debug)]
pub struct Gone {
    /// What for.
    pub errand: Errand,
    /// With which code; `None`: a signal ended it.
    pub code: Option<i32>,
}

/// How cycles are started.
pub struct Way<'a> {
    /// The surroundings.
    pub ui: &'a Ui,
    /// The token of the daemon.
    pub token: u64,
    /// The commit that goals are read from.
    pub commit: Option<&'a str>,
    /// The instant that it is taken to be, where that is not the clock's.
    pub now: Option<Moment>,
}

impl Children {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.running.len()
    }

    /// Whether there is one for something.
    pub fn has(&self, errand: &Errand) -> bool {
        self.running.iter().any(|(other, _)| other == errand)
    }

    /// Whether there is one like that.
    pub fn any(&self, wanted: impl Fn(&Errand) -> bool) -> bool {
        self.running.iter().any(|(errand, _)| wanted(errand))
    }

    /// Starts one.
    pub fn start(&mut self, way: &Way<'_>, errand: Errand) -> Result<(), Failure> {
        let mut command = way.command(&errand);
        let mut child = command.spawn().map_err(|error| {
            let message = format!("no process could be started: {error}");
            Failure::new(Exit::State, message)
        })?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let Some(pid) = pid else {
            return Err(Failure::new(Exit::Bug, "a process has no id"));
        };
        self.running.push((errand.clone(), pid));
        self.waits.spawn_blocking(move || {
            let code = child.wait().ok().and_then(|status| status.code());
            (errand, code)
        });
        Ok(())
    }

    /// Waits until one ended; for ever if there is none.
    pub async fn ended(&mut self) -> Gone {
        loop {
            match self.waits.join_next().await {
                Some(Ok((errand, code))) => {
                    let at = self.running.iter().position(|(other, _)| *other == errand);
                    if let Some(at) = at {
                        self.running.swap_remove(at);
                    }
                    return Gone { errand, code };
                }
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Asks the process of a cycle to end, if there is one: by its slot, or by its first run.
    pub fn cancel(&self, wanted: impl Fn(&Errand) -> bool) -> bool {
        let found = self.running.iter().find(|(errand, _)| wanted(errand));
        found.is_some_and(|(_, pid)| kill_process(*pid, Signal::TERM).is_ok())
    }

    /// Asks all to end.
    pub fn cancel_all(&self) {
        for (_, pid) in &self.running {
            let _ = kill_process(*pid, Signal::TERM);
        }
    }
}

impl Way<'_> {
    fn command(&self, errand: &Errand) -> Command {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is wf itself, which ends what it starts"
        )]
        let mut command = Command::new(keep::program());
        let workspace = self.ui.workspace();
        command.arg("--state").arg(&workspace.state).arg("--quiet");
        match errand {
            Errand::Slot(start) => {
                command.args(["goal", "run", &start.path]);
                command.args(["--slot", &start.slot.to_string()]);
                command.args(["--cause", start.cause.as_str()]);
                command.args(["--token", &self.token.to_string()]);
                if let Some(commit) = self.commit {
                    command.args(["--commit", commit]);
                }
            }
            Errand::Adopt(run) => {
                command.args(["goal", "run", "--cycle", run.as_str()]);
            }
            Errand::Cancel(run) => {
                command.args(["cancel", run.as_str()]);
            }
            Errand::Tell => {
                command.args(["goal", "tell"]);
            }
        }
        command.current_dir(&workspace.root);
        command.stdin(Stdio::null());
        if let Some(now) = self.now {
            command.env("WF_NOW", now.to_string()).env_remove("WF_WARP");
        }
        // Whoever interrupts the daemon at a terminal does not interrupt the cycles.
        command.process_group(0);
        command
    }
}
