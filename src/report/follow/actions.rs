use std::fmt::Write as _;
use std::io::Write;

use super::{Board, Ending, News};
use crate::engine::{Interest, Observer, RunRef, Stream};
use crate::machine::{Attempt, Event, StepState, Verdict};
use crate::report::mistakes::annotation;
use crate::report::{Site, Sites};

/// Marks what failed for GitHub Actions, which shows it beside the log and the line of the plan.
#[derive(Debug)]
pub struct Actions<W> {
    out: W,
    path: String,
    sites: Sites,
    board: Board,
}

impl<W: Write> Actions<W> {
    /// Writes workflow commands to `out`; `path` is the plan's, as the repository knows it.
    pub fn new(out: W, path: impl Into<String>, sites: Sites) -> Self {
        Self {
            out,
            path: path.into(),
            sites,
            board: Board::default(),
        }
    }

    fn write(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes());
    }

    fn mark_step(&self, ending: &Ending) -> String {
        let level = if ending.tolerated { "warning" } else { "error" };
        let mut text = String::new();
        if ending.broken.is_empty() {
            text.clone_from(&ending.why);
        }
        for verdict in &ending.broken {
            let _ = write!(text, "\n{}", found(verdict));
        }
        if !ending.tail.is_empty() {
            let _ = write!(text, "\n{}", ending.tail.join("\n"));
        }
        let site = self.sites.step(&ending.run.plan, &ending.step);
        let title = format!("{} failed", ending.subject());
        self.mark((level, site), &title, text.trim())
    }

    fn mark(&self, (level, site): (&str, Option<&Site>), title: &str, text: &str) -> String {
        let path = site.map_or(&self.path, |site| &site.path);
        let line = site.map_or(1, |site| site.line).to_string();
        let properties = [("file", path.as_str()), ("line", &line), ("title", title)];
        annotation(level, &properties, text)
    }
}

impl<W: Write> Observer for Actions<W> {
    fn event(&mut self, run: &RunRef, event: &Event) {
        match self.board.event(run, event) {
            Some(News::Ended(ending)) => {
                let told = ending.nested && ending.broken.is_empty();
                if ending.state == StepState::Failed && !told {
                    let text = self.mark_step(&ending);
                    self.write(&text);
                }
            }
            Some(News::Judged {
                plan,
                subject,
                verdict,
            }) if !verdict.passed() => {
                let site = self.sites.check(&plan, &verdict.name);
                let title = format!("{subject} failed");
                let text = self.mark(("error", site), &title, &found(&verdict));
                self.write(&text);
            }
            _ => {}
        }
    }

    fn behind(&mut self, run: &RunRef, event: &Event) {
        self.board.behind(run, event);
    }

    fn output(&mut self, run: &RunRef, attempt: &Attempt, _: Stream, bytes: &[u8]) {
        self.board.output(run, attempt, bytes);
    }

    fn wants_output(&self) -> Interest {
        Interest::Ends
    }
}

fn found(verdict: &Verdict) -> String {
    format!("{}: {}", verdict.name, verdict.mismatch())
}

#[cfg(test)]
mod tests {
    use super::{Actions, Sites};
    use crate::engine::RunRef;
    use crate::machine::{Standing, StepState};
    use crate::name::{Name, PlanId, RunId};
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
            step: Name::parse("build").unwrap(),
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
        let expected = "::error file=plans/a.md,line=1,title=build failed::exit code 2%0Ano such file: 100%25\n";
        let actions = Actions::new(Vec::new(), "plans/a.md", Sites::default());
        assert_eq!(actions.mark_step(&ending), expected);
    }
}
