use std::fmt::Write as _;
use std::io::Write;

use super::{Board, Ending, News};
use crate::engine::{Interest, Observer, RunRef, Stream};
use crate::machine::{Attempt, Event, StepState};
use crate::report::mistakes::annotation;

/// Marks failed steps for GitHub Actions, which shows them beside the log and the commit.
#[derive(Debug)]
pub struct Actions<W> {
    out: W,
    path: String,
    board: Board,
}

impl<W: Write> Actions<W> {
    /// Writes workflow commands to `out`; `path` is the plan's, as the repository knows it.
    pub fn new(out: W, path: impl Into<String>) -> Self {
        Self {
            out,
            path: path.into(),
            board: Board::default(),
        }
    }
}

impl<W: Write> Observer for Actions<W> {
    fn event(&mut self, run: &RunRef, event: &Event) {
        let Some(News::Ended(ending)) = self.board.event(run, event) else {
            return;
        };
        if ending.state == StepState::Failed && !ending.nested {
            let _ = self.out.write_all(mark(&ending, &self.path).as_bytes());
        }
    }

    fn output(&mut self, run: &RunRef, attempt: &Attempt, _: Stream, bytes: &[u8]) {
        self.board.output(run, attempt, bytes);
    }

    fn wants_output(&self) -> Interest {
        Interest::Ends
    }
}

fn mark(ending: &Ending, path: &str) -> String {
    let level = if ending.tolerated { "warning" } else { "error" };
    let mut text = String::new();
    if ending.broken.is_empty() {
        text.clone_from(&ending.why);
    }
    for verdict in &ending.broken {
        let (name, expected, found) = (&verdict.name, &verdict.expected, &verdict.found);
        let _ = write!(text, "\n{name}: expected {expected}, found {found}");
    }
    if !ending.tail.is_empty() {
        let _ = write!(text, "\n{}", ending.tail.join("\n"));
    }
    let title = format!("{} failed", ending.subject());
    annotation(level, &[("file", path), ("title", &title)], text.trim())
}

#[cfg(test)]
mod tests {
    use super::mark;
    use crate::engine::RunRef;
    use crate::machine::{Standing, StepState};
    use crate::name::{PlanId, RunId};
    use crate::report::follow::Ending;

    #[test]
    fn an_annotation_is_one_line() {
        let ending = Ending {
            run: RunRef {
                id: RunId::from_stored("ab"),
                plan: PlanId::parse("demo").unwrap(),
                path: Vec::new(),
            },
            place: "build".into(),
            state: StepState::Failed,
            standing: Standing::Unchecked,
            why: "exit code 2".into(),
            class: None,
            tolerated: false,
            cached: false,
            took: None,
            attempts: 1,
            broken: Vec::new(),
            tail: vec!["no such file: 100%".into()],
            nested: false,
        };
        let expected =
            "::error file=plans/a.md,title=build failed::exit code 2%0Ano such file: 100%25\n";
        assert_eq!(mark(&ending, "plans/a.md"), expected);
    }
}
