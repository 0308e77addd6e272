use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use super::ending::remarked;
use super::{Board, Lines, News, Volume, final_line, tell};
use crate::engine::{Interest, Observer, Remark, RunRef, Stream};
use crate::machine::{Attempt, Event, Fact, Ledger, Place};
use crate::report::paint::{BOLD, DIM, paint, plain};
use crate::report::{elapsed, fit, ledger, plural};
use crate::time::{Clock, Moment};
use crate::untrusted::{styled, untrusted};

/// The most running steps on view at once.
const ROWS: usize = 12;

/// What a live view draws on.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Its width in characters.
    pub width: usize,
    /// Its height in lines.
    pub height: usize,
    /// Whether it shows colours.
    pub color: bool,
    /// How many steps the run has.
    pub steps: usize,
}

/// Tells a run on a terminal: what ended scrolls up, what runs stays on view below with its
/// time. Moves the cursor, so `out` is the terminal itself.
pub struct Live<W> {
    out: W,
    screen: Screen,
    volume: Volume,
    clock: Arc<dyn Clock>,
    board: Board,
    lines: Lines,
    began: Option<Moment>,
    /// What the outermost run has used up.
    ledger: Ledger,
    drawn: usize,
}

impl<W: Write> Live<W> {
    /// Tells to a terminal.
    pub fn new(
        out: W,
        screen: Screen,
        (volume, board): (Volume, Board),
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            out,
            screen,
            volume,
            clock,
            board,
            lines: Lines::default(),
            began: None,
            ledger: Ledger::default(),
            drawn: 0,
        }
    }

    /// Puts text above the view.
    fn above(&mut self, text: &str) {
        if !text.is_empty() {
            let text = format!("{}{text}", self.erase());
            self.put(&text);
            self.draw();
        }
    }

    fn draw(&mut self) {
        let view = self.view();
        let text = format!("{}{view}", self.erase());
        self.drawn = view.lines().count();
        self.put(&text);
    }

    fn erase(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            lines => format!("\u{1b}[{lines}A\r\u{1b}[J"),
        }
    }

    /// Writes in one piece, so that the view does not flicker.
    fn put(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes());
        let _ = self.out.flush();
    }

    fn colored(&self, text: &str) -> String {
        let text = styled(text);
        if self.screen.color {
            text.into_owned()
        } else {
            plain(&text)
        }
    }

    fn view(&self) -> String {
        let Some(began) = self.began else {
            return String::new();
        };
        let now = self.clock.now();
        let going = self.board.going();
        let rows = ROWS.min(self.screen.height.saturating_sub(4) / 2).max(1);
        let mut view = String::new();
        for one in going.iter().take(rows) {
            let took = elapsed(now.since(one.since));
            let again = match one.attempt {
                0 | 1 => String::new(),
                n => format!(" · attempt {n}"),
            };
            let subject = untrusted(&one.subject);
            let text = fit(&format!("{subject}{again}"), self.free(24));
            let verb = paint(DIM, &format!("{:>11}", one.state.as_str()));
            let _ = writeln!(view, "{verb} {took:>9}  {text}");
        }
        if going.len() > rows {
            let more = format!("{:>23}and {} more", "", going.len() - rows);
            let _ = writeln!(view, "{}", paint(DIM, &more));
        }
        view.push_str(&self.status(self.board.worked() + now.since(began), going.len()));
        if let Some(used) = ledger(&self.ledger, now) {
            let used = fit(&used, self.free(24));
            let _ = writeln!(view, "{:>23}{}", "", paint(DIM, &used));
        }
        self.colored(&view)
    }

    fn status(&self, took: Duration, going: usize) -> String {
        let (ended, failed) = self.board.progress();
        let steps = plural(self.screen.steps, "step");
        let mut text = format!("{ended} of {steps} · {going} running");
        if failed > 0 {
            let _ = write!(text, " · {failed} failed");
        }
        let verb = paint(BOLD, &format!("{:>11}", "running"));
        let text = fit(&text, self.free(24));
        format!("{verb} {:>9}  {text}\n", elapsed(took))
    }

    /// The width left beside `used` characters.
    fn free(&self, used: usize) -> usize {
        self.screen.width.saturating_sub(used).max(10)
    }
}

impl<W: Write> Observer for Live<W> {
    fn event(&mut self, run: &RunRef, event: &Event) {
        if run.path.is_empty() {
            self.began.get_or_insert(event.at);
            self.ledger.take(event.at, &event.fact);
        }
        let mut text = String::new();
        if let Fact::AttemptEnded { attempt, .. } = &event.fact {
            let name = self.board.subject(run, &attempt.place);
            text.push_str(&self.lines.close(&name, &run.id, attempt));
        }
        match self.board.event(run, event) {
            Some(News::Over(ending)) => {
                self.began = None;
                let _ = write!(text, "\n{}", final_line(&ending));
            }
            Some(news) => text.push_str(&tell(&news, self.volume)),
            None => {}
        }
        let text = self.colored(&text);
        self.above(&text);
    }

    fn behind(&mut self, run: &RunRef, event: &Event) {
        self.board.behind(run, event);
        if run.path.is_empty() {
            self.ledger.take(event.at, &event.fact);
        }
    }

    fn remark(&mut self, run: &RunRef, place: &Place, remark: &Remark) {
        let text = tell(
            &remarked(self.board.subject(run, place), remark),
            self.volume,
        );
        let text = self.colored(&text);
        self.above(&text);
    }

    fn output(&mut self, run: &RunRef, attempt: &Attempt, _: Stream, bytes: &[u8]) {
        self.board.output(run, attempt, bytes);
        if self.volume == Volume::Verbose {
            let name = self.board.subject(run, &attempt.place);
            let text = self.lines.push(&name, &run.id, attempt, bytes);
            let text = self.colored(&text);
            self.above(&text);
        }
    }

    fn tick(&mut self) {
        self.draw();
    }

    fn wants_output(&self) -> Interest {
        Interest::Everything
    }

    fn wants_ticks(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Live, Screen};
    use crate::engine::{Observer, RunRef};
    use crate::machine::{Attempt, Event, Fact, Place};
    use crate::model::Object;
    use crate::name::{Name, PlanId, RunId};
    use crate::report::follow::Board;
    use crate::report::follow::Volume;
    use crate::time::{FixedClock, Moment};
    use std::sync::Arc;

    fn event(fact: Fact) -> Event {
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
        let screen = Screen {
            width: 40,
            height: 10,
            color: false,
            steps: 9,
        };
        let clock = Arc::new(FixedClock(Moment::from_millis(61_500)));
        let mut live = Live::new(
            Vec::new(),
            screen,
            (Volume::Normal, Board::default()),
            clock,
        );
        let begun = Fact::RunStarted {
            logic: 1,
            plan: run.plan.clone(),
            params: Object::new(),
        };
        live.event(&run, &event(begun));
        for at in 0..5 {
            let place = Place::of(&Name::parse(&format!("a_step_with_a_long_name_{at}")).unwrap());
            let attempt = Attempt { place, attempt: 1 };
            live.event(&run, &event(Fact::AttemptStarted(attempt)));
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
