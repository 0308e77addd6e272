use std::io::Write;

use super::ending::remarked;
use super::{Board, Lines, News, RunEnding, Volume, final_line, tell};
use crate::engine::{Interest, Observer, Remark, RunRef, Stream};
use crate::machine::{Attempt, Event, Fact, Place};

/// Tells a run line after line.
#[derive(Debug)]
pub struct Plain<W> {
    out: W,
    volume: Volume,
    board: Board,
    lines: Lines,
}

impl<W: Write> Plain<W> {
    /// Tells to `out` what the board makes of it. What cannot be written is lost: a reader that
    /// goes away ends no run.
    pub fn new(out: W, volume: Volume, board: Board) -> Self {
        Self {
            out,
            volume,
            board,
            lines: Lines::default(),
        }
    }

    fn write(&mut self, text: &str) {
        if !text.is_empty() {
            let _ = self.out.write_all(text.as_bytes());
            let _ = self.out.flush();
        }
    }

    fn over(&mut self, ending: &RunEnding) {
        let gap = if self.volume == Volume::Quiet {
            ""
        } else {
            "\n"
        };
        self.write(&format!("{gap}{}", final_line(ending)));
    }
}

impl<W: Write> Observer for Plain<W> {
    fn event(&mut self, run: &RunRef, event: &Event) {
        if let Fact::AttemptEnded { attempt, .. } = &event.fact {
            let name = self.board.subject(run, &attempt.place);
            let rest = self.lines.close(&name, &run.id, attempt);
            self.write(&rest);
        }
        match self.board.event(run, event) {
            Some(News::Over(ending)) => self.over(&ending),
            Some(news) => self.write(&tell(&news, self.volume)),
            None => {}
        }
    }

    fn behind(&mut self, run: &RunRef, event: &Event) {
        self.board.behind(run, event);
    }

    fn remark(&mut self, run: &RunRef, place: &Place, remark: &Remark) {
        self.write(&tell(
            &remarked(self.board.subject(run, place), remark),
            self.volume,
        ));
    }

    fn output(&mut self, run: &RunRef, attempt: &Attempt, _: Stream, bytes: &[u8]) {
        self.board.output(run, attempt, bytes);
        if self.volume == Volume::Verbose {
            let name = self.board.subject(run, &attempt.place);
            let lines = self.lines.push(&name, &run.id, attempt, bytes);
            self.write(&lines);
        }
    }

    fn wants_output(&self) -> Interest {
        if self.volume == Volume::Verbose {
            Interest::Everything
        } else {
            Interest::Ends
        }
    }
}
