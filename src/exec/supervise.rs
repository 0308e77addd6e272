//! Follows a process to its end, or ends it.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::log::Stream;
use super::pipe::Pipe;
use super::process::Process;
use super::sandbox::{Guard, Report};
use super::{Stop, Unable, tree};
use crate::machine::Exit;

/// How long output may keep coming, or pipes stay open, after the process itself ended.
const AFTER_END: Duration = Duration::from_millis(200);

/// How long a killed process may take to disappear; longer, and it is beyond our reach.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// How often what is left is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Silence after which the beginning of a line is shown.
const QUIET: Duration = Duration::from_millis(200);

/// For ever, as far as a process is concerned.
const A_YEAR: Duration = Duration::from_hours(365 * 24);

/// Takes the output of a process while it runs.
pub(super) trait Sink: Send {
    /// Some bytes came.
    fn take(&mut self, stream: Stream, bytes: &[u8]);

    /// Whether some bytes are held back in the hope of more.
    fn holds(&self) -> bool;

    /// Nothing came for a while.
    fn quiet(&mut self);
}

/// How long a process may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Until it is asked to end.
    pub(super) timeout: Option<Duration>,
    /// From then on until it is killed.
    pub(super) grace: Duration,
    /// How much it may print, in bytes, before it is killed.
    pub(super) output: Option<u64>,
}

/// Where the end of a process has got to, and until when it may stay there.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Runs,
    Asked,
    Killed,
    /// It ended, and something that it started holds its output.
    Ended,
    /// That was killed too.
    Orphaned,
}

/// Reads all output of a process and waits for its end; ends its group if it must.
pub(super) async fn supervise(
    process: Process,
    limits: Limits,
    stop: watch::Receiver<Stop>,
    sink: &mut dyn Sink,
) -> End {
    let mut watched = Watched::new(process, limits);
    let exit = watched.follow(stop, sink).await;
    let report = watched.process.report();
    let service = tree::has_adopted() && watched.process.has_left_something();
    watched.process.set_ended();
    let mut end = End::new(exit, report);
    end.service = service && end.exit.is_success();
    if matches!(end.exit, Exit::Code { .. } | Exit::Signal { .. })
        && let Some(disturbed) = watched.process.disturbed()
    {
        end.exit = disturbed.into();
    }
    // However it ended, such a file must not stay.
    if let Some(meddled) = watched.process.meddled() {
        end.exit = meddled.into();
    }
    end
}

/// How a process ended.
pub(super) struct End {
    pub(super) exit: Exit,
    /// What its sandbox enforced; `None`: it had none.
    pub(super) guards: Option<Vec<Guard>>,
    /// Whether something that it started lives on.
    pub(super) service: bool,
}

impl End {
    /// The end of what could not begin.
    pub(super) fn without(unable: Unable) -> Self {
        Self {
            exit: unable.into(),
            guards: None,
            service: false,
        }
    }

    /// What the sandbox says of its command counts where nobody here ended it.
    fn new(exit: Exit, report: Option<Report>) -> Self {
        let Some(Report { guards, exit: told }) = report else {
            return Self {
                exit,
                guards: None,
                service: false,
            };
        };
        let exit = match (exit, told) {
            (Exit::Code { .. }, Some(told)) => told,
            (Exit::Code { .. }, None) => {
                Unable::environmental("the sandbox ended without a word").into()
            }
            (exit, _) => exit,
        };
        Self {
            exit,
            guards: Some(guards),
            service: false,
        }
    }
}

struct Watched {
    process: Process,
    limits: Limits,
    phase: Phase,
    until: Option<Instant>,
    status: Option<ExitStatus>,
    /// How much it has printed.
    printed: u64,
    /// Whether all that holds the output was killed.
    insisted: bool,
    /// Why we ended it, if we did.
    reason: Option<Exit>,
}

/// What happens next.
enum Happening {
    Out,
    Err,
    Exit(io::Result<ExitStatus>),
    Stop(Stop),
    Due,
    Quiet,
}

impl Watched {
    fn new(process: Process, limits: Limits) -> Self {
        Self {
            process,
            limits,
            phase: Phase::Runs,
            until: limits.timeout.map(soon),
            status: None,
            printed: 0,
            insisted: false,
            reason: None,
        }
    }

    async fn follow(&mut self, mut stop: watch::Receiver<Stop>, sink: &mut dyn Sink) -> Exit {
        let mut out = Pipe::new(self.process.out.take());
        let mut err = Pipe::new(self.process.err.take());
        self.told_to(*stop.borrow_and_update());
        loop {
            let closed = self.status.is_some() && out.is_closed() && err.is_closed();
            if closed && self.is_over() {
                return self.ending();
            }
            let due = self.due();
            // Nobody can say which of two streams was written to first; where both have something,
            // the order is at least always the same.
            let happened = tokio::select! {
                biased;
                told = told(&mut stop) => Happening::Stop(told),
                () = wait_until(due) => Happening::Due,
                () = out.fill(), if !out.is_closed() => Happening::Out,
                () = err.fill(), if !err.is_closed() => Happening::Err,
                exit = self.process.wait(), if self.status.is_none() => {
                    Happening::Exit(exit)
                }
                () = tokio::time::sleep(QUIET), if sink.holds() => Happening::Quiet,
            };
            match happened {
                Happening::Out => self.prints(out.drain(Stream::Out, sink)),
                Happening::Err => self.prints(err.drain(Stream::Err, sink)),
                Happening::Exit(status) => {
                    self.exited(status);
                    // Usually all of it is there, and nothing needs to be waited for.
                    self.prints(out.rest(Stream::Out, sink));
                    self.prints(err.rest(Stream::Err, sink));
                }
                Happening::Stop(told) => self.told_to(told),
                Happening::Quiet => sink.quiet(),
                Happening::Due if !self.escalate(sink) => return self.ending(),
                Happening::Due => {}
            }
        }
    }

    /// Whether nothing needs to be waited for: where we did not end the process ourselves, what it
    /// left running without our pipes may stay, until the keeper ends it with the run.
    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ended | Phase::Orphaned) || !self.process.has_left_something()
    }

    /// When to act next. What lives on after its parent tells nobody when the last of it is
    /// gone.
    fn due(&self) -> Option<Instant> {
        match self.status {
            Some(_) => self.until.map(|until| until.min(soon(LOOK))),
            None => self.until,
        }
    }

    fn exited(&mut self, status: io::Result<ExitStatus>) {
        if let Err(error) = &status {
            let why = format!("cannot learn how the process ended: {error}");
            self.reason = Some(Unable::environmental(why).into());
        }
        self.status = Some(status.unwrap_or_default());
        match self.phase {
            Phase::Runs => self.enter(Phase::Ended, AFTER_END),
            Phase::Killed => self.enter(Phase::Killed, AFTER_KILL),
            Phase::Asked | Phase::Ended | Phase::Orphaned => {}
        }
    }

    fn told_to(&mut self, stop: Stop) {
        match (stop, self.phase) {
            (Stop::No, _) | (_, Phase::Killed | Phase::Orphaned) | (Stop::Gently, Phase::Asked) => {
            }
            (Stop::Gently, Phase::Runs) => self.ask(Exit::Cancelled),
            (Stop::Gently | Stop::AtOnce, _) => {
                if self.status.is_none() {
                    self.reason.get_or_insert(Exit::Cancelled);
                }
                self.kill();
            }
        }
    }

    /// It is time to look, or the time of this phase is up. Gives whether there is another.
    fn escalate(&mut self, sink: &mut dyn Sink) -> bool {
        let over = self.until.is_some_and(|until| until <= Instant::now());
        match self.phase {
            Phase::Runs => self.ask(Exit::TimedOut),
            Phase::Asked if over => self.kill(),
            Phase::Ended if over => {
                let note = "… ended what the step left running with its output …\n";
                sink.take(Stream::Note, note.as_bytes());
                self.process.kill_group();
                self.enter(Phase::Orphaned, AFTER_END);
            }
            // Who has left the group still holds the output.
            Phase::Orphaned if over && !self.insisted => {
                self.insisted = true;
                self.process.kill();
                self.enter(Phase::Orphaned, AFTER_KILL);
            }
            Phase::Killed | Phase::Orphaned if over => {
                let note = "… some of what the step started cannot be ended …\n";
                sink.take(Stream::Note, note.as_bytes());
                return false;
            }
            // Something may have been started while the others were killed.
            Phase::Killed if self.status.is_some() => self.process.kill(),
            Phase::Asked | Phase::Ended | Phase::Killed | Phase::Orphaned => {}
        }
        true
    }

    /// It printed something; too much at last ends it.
    fn prints(&mut self, bytes: usize) {
        self.printed += bytes as u64;
        if let Some(most) = self.limits.output
            && self.printed > most
            && self.reason.is_none()
        {
            let why = format!("it printed more than {most} bytes");
            self.reason = Some(Unable::logical(why).into());
            self.kill();
        }
    }

    fn ask(&mut self, reason: Exit) {
        self.reason = Some(reason);
        self.process.ask_to_end();
        self.enter(Phase::Asked, self.limits.grace);
    }

    fn kill(&mut self) {
        self.process.kill();
        self.enter(Phase::Killed, AFTER_KILL);
    }

    fn enter(&mut self, phase: Phase, wait: Duration) {
        self.phase = phase;
        self.until = Some(soon(wait));
    }

    fn ending(&mut self) -> Exit {
        match (self.reason.take(), self.status) {
            (Some(reason), _) => reason,
            (None, Some(status)) => of_status(status),
            (None, None) => Exit::Cancelled,
        }
    }
}

fn of_status(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code { code },
        (None, signal) => Exit::Signal {
            signal: signal.unwrap_or(0),
        },
    }
}

/// Waits for the next word; forever, if none can come.
pub(super) async fn told(stop: &mut watch::Receiver<Stop>) -> Stop {
    match stop.changed().await {
        Ok(()) => *stop.borrow_and_update(),
        Err(_) => std::future::pending().await,
    }
}

/// Waits for an instant; forever, if there is none.
pub(super) async fn wait_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// This long from now; a wait beyond the clock's end is a year's.
fn soon(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait).unwrap_or(now + A_YEAR)
}

#[cfg(test)]
mod tests;
