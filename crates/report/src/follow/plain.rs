use std::io::Write;

use super::{
    OutputLineBuffer, RunEnding, RunNotification, RunTracker, Verbosity, ending::remark_notification,
    final_line, notification_text,
};
use wf_core::{
    machine::{Attempt, Event, EventKind, TaskId},
    observe::{OutputInterest, OutputStream, RunObserver, RunRef, TaskRemark},
};

/// Prints a run line after line.
#[derive(Debug)]
pub struct PlainPrinter<W> {
    out: W,
    verbosity: Verbosity,
    tracker: RunTracker,
    lines: OutputLineBuffer,
}

impl<W: Write> PlainPrinter<W> {
    /// Writes the notifications of the board to `out`. Text that cannot be written is lost: a
    /// closed reader ends no run.
    pub fn new(out: W, verbosity: Verbosity, tracker: RunTracker) -> Self {
        Self { out, verbosity, tracker, lines: OutputLineBuffer::default() }
    }

    fn write(&mut self, text: &str) {
        if !text.is_empty() {
            let _ = self.out.write_all(text.as_bytes());
            let _ = self.out.flush();
        }
    }

    fn print_notification(&mut self, ending: &RunEnding) {
        let gap = if self.verbosity == Verbosity::Quiet { "" } else { "\n" };
        self.write(&format!("{gap}{}", final_line(ending)));
    }
}

impl<W: Write> RunObserver for PlainPrinter<W> {
    fn event(&mut self, run: &RunRef, event: &Event) {
        if let EventKind::AttemptEnded { attempt, .. } = &event.fact {
            let name = self.tracker.subject(run, &attempt.task_id);
            let rest = self.lines.close(&name, &run.id, attempt);
            self.write(&rest);
        }
        match self.tracker.event(run, event) {
            Some(RunNotification::Over(ending)) => self.print_notification(&ending),
            Some(news) => self.write(&notification_text(&news, self.verbosity)),
            None => {}
        }
    }

    fn replayed(&mut self, run: &RunRef, event: &Event) {
        self.tracker.replay(run, event);
    }

    fn remark(&mut self, run: &RunRef, task_id: &TaskId, remark: &TaskRemark) {
        self.write(&notification_text(
            &remark_notification(self.tracker.subject(run, task_id), remark),
            self.verbosity,
        ));
    }

    fn output(&mut self, run: &RunRef, attempt: &Attempt, _: OutputStream, bytes: &[u8]) {
        self.tracker.output(run, attempt, bytes);
        if self.verbosity == Verbosity::Verbose {
            let name = self.tracker.subject(run, &attempt.task_id);
            let lines = self.lines.push(&name, &run.id, attempt, bytes);
            self.write(&lines);
        }
    }

    fn wants_output(&self) -> OutputInterest {
        if self.verbosity == Verbosity::Verbose { OutputInterest::Everything } else { OutputInterest::Ends }
    }
}
