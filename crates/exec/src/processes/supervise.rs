//! Follows a process until it exits, or terminates it.

use std::{io, os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Duration};

use tokio::{sync::watch, time::Instant};

use wf_core::machine::WorkExit;

use super::{
    output_pipe::OutputPipe,
    process::ChildProcess,
    tails::LogStream,
    tree::{self, LivingProcess},
};
use crate::{
    sandbox::{IsolationKind, SandboxReport},
    work_error::{StopLevel, WorkError},
};

/// The time for which output may continue, or pipes stay open, after the exit of the process itself.
const OUTPUT_AFTER_EXIT: Duration = Duration::from_millis(200);

/// The time for which a killed process may remain; later it is out of reach.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// The interval between looks at remaining processes.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The silence after which an incomplete line is shown.
const IDLE_TIME: Duration = Duration::from_millis(200);

/// The maximum duration of a wait.
const MAX_WAIT: Duration = Duration::from_hours(365 * 24);

/// A receiver of a process's output.
pub(crate) trait OutputSink: Send {
    /// Receives some bytes.
    fn on_bytes(&mut self, stream: LogStream, bytes: &[u8]);

    /// True if bytes are held back until more arrive.
    fn has_pending(&self) -> bool {
        false
    }

    /// Called after a silence.
    fn on_idle(&mut self) {}
}

/// The limits on a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessLimits {
    /// The run time until it is asked to terminate.
    pub(crate) timeout: Option<Duration>,
    /// The grace period from then on until it is killed.
    pub(crate) grace: Duration,
    /// The output size in bytes at which it is killed.
    pub(crate) output: Option<u64>,
    /// True to kill the descendants it leaves running.
    pub(crate) leaves_none: bool,
}

/// The phase of a process's life, which ends at `until`.
#[derive(Clone, Copy, Debug)]
enum ProcessPhase {
    Running,
    Terminating,
    Killed,
    /// It exited, but a descendant holds its output.
    Exited,
    /// The descendant was killed, too.
    Orphaned,
}

/// Reads all output of a process and waits for its exit; kills its group if it must.
pub(crate) async fn supervise(
    process: ChildProcess,
    limits: ProcessLimits,
    stop: watch::Receiver<StopLevel>,
    sink: &mut dyn OutputSink,
) -> ProcessEnd {
    let mut watched = WatchedProcess::new(process, limits);
    let exit = watched.run_to_end(stop, sink).await;
    if limits.leaves_none {
        watched.end_descendants().await;
    }
    let report = watched.process.report();
    let has_left = exit.is_success() && tree::has_adopted();
    let left = if has_left { watched.process.descendants() } else { Vec::new() };
    watched.process.set_ended();
    let mut end = ProcessEnd::new(exit, report);
    if end.exit.is_success() {
        end.left_processes = left;
    }
    if matches!(end.exit, WorkExit::Code { .. } | WorkExit::Signal { .. })
        && let Some(disturbed) = watched.process.file_change_reason()
    {
        end.exit = disturbed.into();
    }
    // After any exit such a file must not stay.
    if let Some(meddled) = watched.process.control_file_reason().await {
        end.exit = meddled.into();
    }
    end
}

/// The outcome of a process.
pub(crate) struct ProcessEnd {
    pub(crate) exit: WorkExit,
    /// The guards its sandbox enforced; `None`: it had none.
    pub(super) isolation: Option<Vec<IsolationKind>>,
    /// The descendants living on.
    pub(crate) left_processes: Vec<LivingProcess>,
}

impl ProcessEnd {
    /// The outcome of work without a beginning.
    pub(super) fn without(error: WorkError) -> Self {
        Self { exit: error.into(), isolation: None, left_processes: Vec::new() }
    }

    /// Combines exit and report: the sandbox's report decides unless the process was terminated here.
    fn new(exit: WorkExit, report: Option<SandboxReport>) -> Self {
        let Some(SandboxReport { isolation, exit: inner }) = report else {
            return Self { exit, isolation: None, left_processes: Vec::new() };
        };
        let exit = match (exit, inner) {
            (WorkExit::Code { .. }, Some(inner)) => inner,
            (WorkExit::Code { .. }, None) => {
                WorkError::environmental("the sandbox exited without a report").into()
            }
            (exit, _) => exit,
        };
        Self { exit, isolation: Some(isolation), left_processes: Vec::new() }
    }
}

struct WatchedProcess {
    process: ChildProcess,
    limits: ProcessLimits,
    phase: ProcessPhase,
    until: Option<Instant>,
    status: Option<ExitStatus>,
    /// The number of bytes printed.
    printed: u64,
    /// True if all holders of the output were killed.
    holders_killed: bool,
    /// The reason for terminating it, if it was terminated here.
    exit: Option<WorkExit>,
}

impl WatchedProcess {
    fn new(process: ChildProcess, limits: ProcessLimits) -> Self {
        Self {
            process,
            limits,
            phase: ProcessPhase::Running,
            until: limits.timeout.map(soon),
            status: None,
            printed: 0,
            holders_killed: false,
            exit: None,
        }
    }

    async fn run_to_end(
        &mut self,
        mut stop: watch::Receiver<StopLevel>,
        sink: &mut dyn OutputSink,
    ) -> WorkExit {
        let mut out = OutputPipe::new(self.process.out.take());
        let mut err = OutputPipe::new(self.process.err.take());
        self.on_stop(*stop.borrow_and_update());
        loop {
            let closed = self.status.is_some() && out.is_closed() && err.is_closed();
            if closed && self.is_over() {
                return self.ending();
            }
            let due = self.due();
            // The order of writes to two streams is unknown; if both have data, at least the order
            // of reading is always the same.
            tokio::select! {
                biased;
                level = next_stop(&mut stop) => self.on_stop(level),
                () = wait_until(due) => {
                    if !self.escalate(sink) {
                        return self.ending();
                    }
                }
                () = out.fill(), if !out.is_closed() => self.prints(out.drain(LogStream::Out, sink)),
                () = err.fill(), if !err.is_closed() => self.prints(err.drain(LogStream::Err, sink)),
                status = self.process.wait(), if self.status.is_none() => {
                    self.on_exit(status);
                    // Usually all of it is available, and nothing needs to be waited for.
                    self.prints(out.drain_available(LogStream::Out, sink));
                    self.prints(err.drain_available(LogStream::Err, sink));
                }
                () = tokio::time::sleep(IDLE_TIME), if sink.has_pending() => sink.on_idle(),
            }
        }
    }

    /// Kills the descendants living on. A killed one may have been starting another.
    async fn end_descendants(&self) {
        let until = soon(KILL_TIMEOUT);
        while self.process.has_living_descendant() && Instant::now() < until {
            self.process.kill();
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// True if there is nothing to wait for: if the process was not terminated here, descendants
    /// without its pipes may stay until the supervisor ends them with the run.
    fn is_over(&self) -> bool {
        matches!(self.phase, ProcessPhase::Exited | ProcessPhase::Orphaned)
            || !self.process.has_living_descendant()
    }

    /// Returns the time of the next action. Orphaned descendants give no notice of their exit, so
    /// they are polled.
    fn due(&self) -> Option<Instant> {
        match self.status {
            Some(_) => self.until.map(|until| until.min(soon(POLL_INTERVAL))),
            None => self.until,
        }
    }

    fn on_exit(&mut self, status: io::Result<ExitStatus>) {
        if let Err(error) = &status {
            let reason = format!("cannot get the exit status of the process: {error}");
            self.exit = Some(WorkError::environmental(reason).into());
        }
        self.status = Some(status.unwrap_or_default());
        match self.phase {
            ProcessPhase::Running => self.enter(ProcessPhase::Exited, OUTPUT_AFTER_EXIT),
            ProcessPhase::Killed => self.enter(ProcessPhase::Killed, KILL_TIMEOUT),
            ProcessPhase::Terminating | ProcessPhase::Exited | ProcessPhase::Orphaned => {}
        }
    }

    fn on_stop(&mut self, stop: StopLevel) {
        match (stop, self.phase) {
            (StopLevel::No, _)
            | (_, ProcessPhase::Killed | ProcessPhase::Orphaned)
            | (StopLevel::Gently, ProcessPhase::Terminating) => {}
            (StopLevel::Gently, ProcessPhase::Running) => self.ask(WorkExit::Cancelled),
            (StopLevel::Gently | StopLevel::AtOnce, _) => {
                if self.status.is_none() {
                    self.exit.get_or_insert(WorkExit::Cancelled);
                }
                self.kill();
            }
        }
    }

    /// Acts on a poll or on the end of a phase; returns false after the last phase.
    fn escalate(&mut self, sink: &mut dyn OutputSink) -> bool {
        let over = self.until.is_some_and(|until| until <= Instant::now());
        match self.phase {
            ProcessPhase::Running => self.ask(WorkExit::TimedOut),
            ProcessPhase::Terminating if over => self.kill(),
            ProcessPhase::Exited if over => {
                let note = "… killed background processes that kept the step's output open …\n";
                sink.on_bytes(LogStream::Note, note.as_bytes());
                self.process.kill_group();
                self.enter(ProcessPhase::Orphaned, OUTPUT_AFTER_EXIT);
            }
            // A process that has left the group still holds the output.
            ProcessPhase::Orphaned if over && !self.holders_killed => {
                self.holders_killed = true;
                self.process.kill();
                self.enter(ProcessPhase::Orphaned, KILL_TIMEOUT);
            }
            ProcessPhase::Killed | ProcessPhase::Orphaned if over => {
                let note = "… some processes of the step cannot be killed …\n";
                sink.on_bytes(LogStream::Note, note.as_bytes());
                return false;
            }
            // A new process may have been started during the kill.
            ProcessPhase::Killed if self.status.is_some() => self.process.kill(),
            ProcessPhase::Terminating
            | ProcessPhase::Exited
            | ProcessPhase::Killed
            | ProcessPhase::Orphaned => {}
        }
        true
    }

    /// Counts output; too much of it gets the process killed.
    fn prints(&mut self, bytes: usize) {
        self.printed += bytes as u64;
        if let Some(most) = self.limits.output
            && self.printed > most
            && self.exit.is_none()
        {
            let reason = format!("output exceeds {most} bytes");
            self.exit = Some(WorkError::logical(reason).into());
            self.kill();
        }
    }

    fn ask(&mut self, exit: WorkExit) {
        self.exit = Some(exit);
        self.process.ask_to_end();
        self.enter(ProcessPhase::Terminating, self.limits.grace);
    }

    fn kill(&mut self) {
        self.process.kill();
        self.enter(ProcessPhase::Killed, KILL_TIMEOUT);
    }

    fn enter(&mut self, phase: ProcessPhase, wait: Duration) {
        self.phase = phase;
        self.until = Some(soon(wait));
    }

    fn ending(&mut self) -> WorkExit {
        match (self.exit.take(), self.status) {
            (Some(reason), _) => reason,
            (None, Some(status)) => of_status(status),
            (None, None) => WorkExit::Cancelled,
        }
    }
}

/// Returns the end of a process with this status.
pub(crate) fn of_status(status: ExitStatus) -> WorkExit {
    match (status.code(), status.signal()) {
        (Some(code), _) => WorkExit::Code { code },
        (None, signal) => WorkExit::Signal { signal: signal.unwrap_or(0) },
    }
}

/// Waits for the next stop request; forever if none can come.
pub(crate) async fn next_stop(stop: &mut watch::Receiver<StopLevel>) -> StopLevel {
    match stop.changed().await {
        Ok(()) => *stop.borrow_and_update(),
        Err(_) => std::future::pending().await,
    }
}

/// Waits until an instant; forever if there is none.
pub(crate) async fn wait_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Returns the instant after a wait; one beyond the clock's range is cut to a year.
fn soon(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait).unwrap_or(now + MAX_WAIT)
}

#[cfg(test)]
mod tests;
