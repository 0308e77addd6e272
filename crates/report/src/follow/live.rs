use std::{fmt::Write as _, io::Write, sync::Arc, time::Duration};

use super::{
    OutputLineBuffer, RunNotification, RunTracker, Verbosity, ending::remark_notification, final_line,
    notification_text,
};
use crate::usage_line;
use wf_base::{
    time::{Clock, Moment},
    units::{elapsed, fit, plural},
    untrusted::{BOLD, DIM, paint, plain, styled, untrusted},
};
use wf_core::{
    machine::{Attempt, BudgetLedger, Event, EventKind, TaskId},
    observe::{OutputInterest, OutputStream, RunObserver, RunRef, TaskRemark},
};

/// The most running steps on view at once.
const MAX_LIVE_ROWS: usize = 12;

/// The properties of the terminal a live view draws on.
#[derive(Clone, Copy, Debug)]
pub struct TerminalInfo {
    /// Its width in characters.
    pub width: usize,
    /// Its height in lines.
    pub height: usize,
    /// True if it shows colours.
    pub color: bool,
    /// The number of steps of the run.
    pub steps: usize,
}

/// Prints a run on a terminal: ended steps scroll up, running ones stay on view below with their
/// times. Moves the cursor, so `out` is the terminal itself.
pub struct LiveView<W> {
    out: W,
    terminal: TerminalInfo,
    verbosity: Verbosity,
    clock: Arc<dyn Clock>,
    tracker: RunTracker,
    lines: OutputLineBuffer,
    began: Option<Moment>,
    /// The amounts the outermost run has used.
    ledger: BudgetLedger,
    drawn: usize,
}

impl<W: Write> LiveView<W> {
    /// Prints to a terminal.
    pub fn new(
        out: W,
        terminal: TerminalInfo,
        verbosity: Verbosity,
        tracker: RunTracker,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            out,
            terminal,
            verbosity,
            clock,
            tracker,
            lines: OutputLineBuffer::default(),
            began: None,
            ledger: BudgetLedger::default(),
            drawn: 0,
        }
    }

    /// Puts text above the view.
    fn print_above(&mut self, text: &str) {
        if !text.is_empty() {
            let text = format!("{}{text}", self.erase());
            self.write_once(&text);
            self.draw();
        }
    }

    fn draw(&mut self) {
        let view = self.view();
        let text = format!("{}{view}", self.erase());
        self.drawn = view.lines().count();
        self.write_once(&text);
    }

    fn erase(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            lines => format!("\u{1b}[{lines}A\r\u{1b}[J"),
        }
    }

    /// Writes in one piece, so the view does not flicker.
    fn write_once(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes());
        let _ = self.out.flush();
    }

    fn colored(&self, text: &str) -> String {
        let text = styled(text);
        if self.terminal.color { text.into_owned() } else { plain(&text) }
    }

    fn view(&self) -> String {
        let Some(began) = self.began else {
            return String::new();
        };
        let now = self.clock.now();
        let going = self.tracker.running_tasks();
        let rows = MAX_LIVE_ROWS.min(self.terminal.height.saturating_sub(4) / 2).max(1);
        let mut view = String::new();
        for task in going.iter().take(rows) {
            let took = elapsed(now.since(task.since));
            let again = match task.attempt {
                0 | 1 => String::new(),
                n => format!(" · attempt {n}"),
            };
            let subject = untrusted(&task.subject);
            let text = fit(&format!("{subject}{again}"), self.free_width(24));
            let verb = paint(DIM, &format!("{:>11}", task.state.as_str()));
            let _ = writeln!(view, "{verb} {took:>9}  {text}");
        }
        if going.len() > rows {
            let more = format!("{:>23}and {} more", "", going.len() - rows);
            let _ = writeln!(view, "{}", paint(DIM, &more));
        }
        view.push_str(&self.status(self.tracker.worked() + now.since(began), going.len()));
        if let Some(used) = usage_line(&self.ledger, now) {
            let used = fit(&used, self.free_width(24));
            let _ = writeln!(view, "{:>23}{}", "", paint(DIM, &used));
        }
        self.colored(&view)
    }

    fn status(&self, took: Duration, going: usize) -> String {
        let (ended, failed) = self.tracker.progress();
        let steps = plural(self.terminal.steps, "step");
        let mut text = format!("{ended} of {steps} · {going} running");
        if failed > 0 {
            let _ = write!(text, " · {failed} failed");
        }
        let verb = paint(BOLD, &format!("{:>11}", "running"));
        let text = fit(&text, self.free_width(24));
        format!("{verb} {:>9}  {text}\n", elapsed(took))
    }

    /// The width left beside `used` characters.
    fn free_width(&self, used: usize) -> usize {
        self.terminal.width.saturating_sub(used).max(10)
    }
}

impl<W: Write> RunObserver for LiveView<W> {
    fn event(&mut self, run: &RunRef, event: &Event) {
        if run.path.is_empty() {
            self.began.get_or_insert(event.at);
            self.ledger.apply_fact(event.at, &event.fact);
        }
        let mut text = String::new();
        if let EventKind::AttemptEnded { attempt, .. } = &event.fact {
            let name = self.tracker.subject(run, &attempt.task_id);
            text.push_str(&self.lines.close(&name, &run.id, attempt));
        }
        match self.tracker.event(run, event) {
            Some(RunNotification::Over(ending)) => {
                self.began = None;
                let _ = write!(text, "\n{}", final_line(&ending));
            }
            Some(news) => text.push_str(&notification_text(&news, self.verbosity)),
            None => {}
        }
        let text = self.colored(&text);
        self.print_above(&text);
    }

    fn replayed(&mut self, run: &RunRef, event: &Event) {
        self.tracker.replay(run, event);
        if run.path.is_empty() {
            self.ledger.apply_fact(event.at, &event.fact);
        }
    }

    fn remark(&mut self, run: &RunRef, task_id: &TaskId, remark: &TaskRemark) {
        let text = notification_text(
            &remark_notification(self.tracker.subject(run, task_id), remark),
            self.verbosity,
        );
        let text = self.colored(&text);
        self.print_above(&text);
    }

    fn output(&mut self, run: &RunRef, attempt: &Attempt, _: OutputStream, bytes: &[u8]) {
        self.tracker.output(run, attempt, bytes);
        if self.verbosity == Verbosity::Verbose {
            let name = self.tracker.subject(run, &attempt.task_id);
            let text = self.lines.push(&name, &run.id, attempt, bytes);
            let text = self.colored(&text);
            self.print_above(&text);
        }
    }

    fn tick(&mut self) {
        self.draw();
    }

    fn wants_output(&self) -> OutputInterest {
        OutputInterest::Everything
    }

    fn wants_ticks(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{LiveView, TerminalInfo};
    use crate::follow::{RunTracker, Verbosity};
    use std::sync::Arc;
    use wf_base::{
        name::{Name, PlanId, RunId},
        time::{FixedClock, Moment},
    };
    use wf_core::{
        machine::{Attempt, Event, EventKind, TaskId},
        observe::{RunObserver, RunRef},
    };
    use wf_model::JsonObject;

    fn event(fact: EventKind) -> Event {
        let at = Moment::from_millis(0);
        Event { at, fact }
    }

    #[test]
    fn what_runs_is_on_view_and_a_long_plan_stays_readable() {
        let run = RunRef {
            id: RunId::from_stored("1a2b3c4d5e"),
            plan: PlanId::parse("demo").unwrap(),
            path: Vec::new(),
        };
        let screen = TerminalInfo { width: 40, height: 10, color: false, steps: 9 };
        let clock = Arc::new(FixedClock(Moment::from_millis(61_500)));
        let mut live = LiveView::new(Vec::new(), screen, Verbosity::Normal, RunTracker::default(), clock);
        let begun = EventKind::RunStarted {
            logic_version: 1,
            plan: run.plan.clone(),
            params: JsonObject::new(),
            dispatch: None,
        };
        live.event(&run, &event(begun));
        for at in 0..5 {
            let task_id = TaskId::of_step(&Name::parse(&format!("a_step_with_a_long_name_{at}")).unwrap());
            let attempt = Attempt { task_id, attempt: 1 };
            live.event(&run, &event(EventKind::AttemptStarted(attempt)));
        }
        live.tick();
        let told = String::from_utf8(live.out).unwrap();
        let (_, view) = told.rsplit_once("\u{1b}[J").unwrap();
        let expected = "    running    1m 01s  a_step_with_a_l…
    running    1m 01s  a_step_with_a_l…
    running    1m 01s  a_step_with_a_l…
                       and 2 more
    running    1m 01s  0 of 9 steps · …
";
        assert_eq!(view, expected);
    }
}
