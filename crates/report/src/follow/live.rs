use std::{fmt::Write as _, io::Write, sync::Arc, time::Duration};

use super::{
    DisplayedTask, OutputLineBuffer, RunNotification, RunTracker, Verbosity, ending::remark_notification,
    final_line, notification_text,
};
use crate::usage_line;
use wf_base::{
    name::Name,
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

/// The most items of a step that are shown one by one.
const MAX_ITEM_ROWS: usize = 8;

/// The narrowest place in which a line of output says anything.
const MIN_LINE_WIDTH: usize = 16;

/// The width of the bar.
const BAR_WIDTH: usize = 20;

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
    /// The time that runs of its plan take, as far as earlier ones tell.
    pub usual: Option<Duration>,
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
        let (folded, single) = self.fold_items(&going);
        let rows = MAX_LIVE_ROWS.min(self.terminal.height.saturating_sub(4) / 2).max(1);
        let mut view = String::new();
        for step in folded.iter().take(rows) {
            view.push_str(&self.item_row(step, &going, now));
        }
        let rows = rows.saturating_sub(folded.len());
        for task in single.iter().take(rows) {
            view.push_str(&self.task_row(task, now));
        }
        if single.len() > rows {
            let more = format!("{:>23}and {} more", "", single.len() - rows);
            let _ = writeln!(view, "{}", paint(DIM, &more));
        }
        view.push_str(&self.status(self.tracker.worked() + now.since(began), going.len()));
        if let Some(used) = usage_line(&self.ledger, now) {
            let used = fit(&used, self.free_width(24));
            let _ = writeln!(view, "{:>23}{}", "", paint(DIM, &used));
        }
        self.colored(&view)
    }

    /// Divides what runs into the steps with more items than are shown one by one, and all other tasks.
    fn fold_items<'t>(&self, going: &'t [DisplayedTask]) -> (Vec<&'t Name>, Vec<&'t DisplayedTask>) {
        let is_folded =
            |step: &Name| self.tracker.item_progress(step).is_some_and(|items| items.total > MAX_ITEM_ROWS);
        let mut steps: Vec<&Name> = Vec::new();
        let mut single = Vec::new();
        for task in going {
            match task.items_of.as_ref().filter(|step| is_folded(step)) {
                Some(step) if !steps.contains(&step) => steps.push(step),
                Some(_) => {}
                None => single.push(task),
            }
        }
        (steps, single)
    }

    fn task_row(&self, task: &DisplayedTask, now: Moment) -> String {
        let took = elapsed(now.since(task.since));
        let again = match task.attempt {
            0 | 1 => String::new(),
            n => format!(" · attempt {n}"),
        };
        let subject = untrusted(&task.subject);
        let text = fit(&format!("{subject}{again}"), self.free_width(24));
        let free = self.free_width(24).saturating_sub(text.chars().count() + 3);
        let line = untrusted(task.last_line.trim()).to_string();
        let line = if free < MIN_LINE_WIDTH || line.is_empty() {
            String::new()
        } else {
            paint(DIM, &format!(" · {}", fit(&line, free)))
        };
        let verb = paint(DIM, &format!("{:>11}", task.state.as_str()));
        format!("{verb} {took:>9}  {text}{line}\n")
    }

    /// The items of a step in one line.
    fn item_row(&self, step: &Name, going: &[DisplayedTask], now: Moment) -> String {
        let items: Vec<_> = going.iter().filter(|task| task.items_of.as_ref() == Some(step)).collect();
        let since = items.iter().map(|task| task.since).min().unwrap_or(now);
        let count = self.tracker.item_progress(step).unwrap_or_default();
        let text =
            format!("{step} {}/{}{}", count.ended, count.total, running_text(items.len(), count.failed));
        let verb = paint(DIM, &format!("{:>11}", "running"));
        format!("{verb} {:>9}  {}\n", elapsed(now.since(since)), fit(&text, self.free_width(24)))
    }

    fn status(&self, took: Duration, going: usize) -> String {
        let count = self.tracker.progress(self.terminal.steps);
        let mut text = format!(
            "{} of {}{}",
            count.ended,
            plural(count.total, "task"),
            running_text(going, count.failed)
        );
        if let Some(left) = self.terminal.usual.and_then(|usual| usual.checked_sub(took)) {
            let _ = write!(text, " · about {} left", elapsed(left));
        }
        if self.free_width(24) >= 2 * BAR_WIDTH + text.chars().count() {
            text = format!("{} {text}", bar(count.ended, count.total));
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

/// Returns how many tasks run, and how many failed.
fn running_text(going: usize, failed: usize) -> String {
    let failed = if failed > 0 { format!(" · {failed} failed") } else { String::new() };
    format!(" · {going} running{failed}")
}

/// Returns a bar that is full once all tasks have ended.
fn bar(ended: usize, total: usize) -> String {
    let full = (ended * BAR_WIDTH).checked_div(total).unwrap_or_default().min(BAR_WIDTH);
    format!("{}{}", "█".repeat(full), "░".repeat(BAR_WIDTH - full))
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
    use std::{sync::Arc, time::Duration};
    use wf_base::{
        name::{Name, PlanId, RunId},
        time::{FixedClock, Moment},
    };
    use wf_core::{
        machine::{Attempt, Event, EventKind, Standing, StepItem, StepState, TaskId},
        observe::{OutputStream, RunObserver, RunRef},
    };
    use wf_model::JsonObject;

    fn event(fact: EventKind) -> Event {
        let at = Moment::from_millis(0);
        Event { at, fact }
    }

    /// Returns a view of a run that has begun a good minute ago.
    fn live_view(width: usize, steps: usize, usual: Option<Duration>) -> (LiveView<Vec<u8>>, RunRef) {
        let run = RunRef {
            id: RunId::from_stored("1a2b3c4d5e"),
            plan: PlanId::parse("demo").unwrap(),
            path: Vec::new(),
        };
        let screen = TerminalInfo { width, height: 10, color: false, steps, usual };
        let clock = Arc::new(FixedClock(Moment::from_millis(61_500)));
        let mut live = LiveView::new(Vec::new(), screen, Verbosity::Normal, RunTracker::default(), clock);
        let begun = EventKind::RunStarted {
            logic_version: 1,
            plan: run.plan.clone(),
            params: JsonObject::new(),
            dispatch: None,
        };
        live.event(&run, &event(begun));
        (live, run)
    }

    /// Returns the view as it was drawn last.
    fn last_view(mut live: LiveView<Vec<u8>>) -> String {
        live.tick();
        let text = String::from_utf8(live.out).unwrap();
        text.rsplit_once("\u{1b}[J").unwrap().1.to_owned()
    }

    fn ended(task_id: TaskId, state: StepState) -> EventKind {
        EventKind::StepEnded {
            task_id,
            state,
            standing: Standing::Reported,
            reason: String::new(),
            failure_class: None,
            allowed_to_fail: false,
            cache_key: None,
            outputs: JsonObject::new(),
            reused_from: None,
        }
    }

    fn item(at: u32) -> TaskId {
        TaskId { step: Name::parse("shard").unwrap(), item: Some(at) }
    }

    #[test]
    fn items_are_tasks_and_more_than_eight_are_one_line() {
        for (width, status) in [
            (60, "3 of 22 tasks · 4 running · 1 failed"),
            (100, "██░░░░░░░░░░░░░░░░░░ 3 of 22 tasks · 4 running · 1 failed"),
        ] {
            let (mut live, run) = live_view(width, 3, None);
            let step = Name::parse("shard").unwrap();
            let items = (0..20).map(|at| StepItem { key: format!("{at}"), value: at.into() }).collect();
            live.event(&run, &event(EventKind::StepExpanded { step, items }));
            for at in 0..7 {
                live.event(
                    &run,
                    &event(EventKind::AttemptStarted(Attempt { task_id: item(at), attempt: 1 })),
                );
            }
            for at in 0..3 {
                let state = if at == 2 { StepState::Failed } else { StepState::Succeeded };
                live.event(&run, &event(ended(item(at), state)));
            }
            let view = last_view(live);
            let rows = format!(
                "    running    1m 01s  shard 3/20 · 4 running · 1 failed\n    running    1m 01s  {status}\n"
            );
            assert_eq!(view, rows);
        }
    }

    #[test]
    fn the_last_line_and_the_time_left_have_a_place_where_there_is_one() {
        for (width, row, status) in [
            (60, "build · Compiling many things", "0 of 3 tasks · 1 running · about 30…"),
            (
                200,
                "build · Compiling many things",
                "░░░░░░░░░░░░░░░░░░░░ 0 of 3 tasks · 1 running · about 30.0s left",
            ),
        ] {
            let (mut live, run) = live_view(width, 3, Some(Duration::from_millis(91_500)));
            let attempt = Attempt { task_id: TaskId::of_step(&Name::parse("build").unwrap()), attempt: 1 };
            live.event(&run, &event(EventKind::AttemptStarted(attempt.clone())));
            live.output(&run, &attempt, OutputStream::Out, b"Compiling many things\n");
            let view = last_view(live);
            assert_eq!(view, format!("    running    1m 01s  {row}\n    running    1m 01s  {status}\n"));
        }
    }

    #[test]
    fn what_runs_is_on_view_and_a_long_plan_stays_readable() {
        let (mut live, run) = live_view(40, 9, None);
        for at in 0..5 {
            let task_id = TaskId::of_step(&Name::parse(&format!("a_step_with_a_long_name_{at}")).unwrap());
            let attempt = Attempt { task_id, attempt: 1 };
            live.event(&run, &event(EventKind::AttemptStarted(attempt)));
        }
        let expected = "    running    1m 01s  a_step_with_a_l…
    running    1m 01s  a_step_with_a_l…
    running    1m 01s  a_step_with_a_l…
                       and 2 more
    running    1m 01s  0 of 9 tasks · …
";
        assert_eq!(last_view(live), expected);
    }
}
