use std::{fmt::Write as _, io::Write, path::PathBuf};

use super::{RunNotification, RunTracker, TaskEnding};
use crate::mistakes::{annotation, path_from_top};
use wf_base::source::{DeclarationSite, DeclarationSites};
use wf_core::{
    machine::{Attempt, CheckVerdict, Event, StepState},
    observe::{OutputInterest, OutputStream, RunObserver, RunRef},
};

/// Marks failures for GitHub Actions, which shows them beside the log and the line of the plan.
#[derive(Debug)]
pub struct GithubAnnotator<W> {
    out: W,
    /// The folder of the workspace, from the top of the repository.
    folder: PathBuf,
    path: String,
    sites: DeclarationSites,
    tracker: RunTracker,
}

impl<W: Write> GithubAnnotator<W> {
    /// Writes workflow commands to `out`. The path of the plan and those of the sites are relative to the workspace, which
    /// is in a folder below the top of the repository.
    pub fn new(out: W, folder: PathBuf, path: impl Into<String>, sites: DeclarationSites) -> Self {
        Self { out, folder, path: path.into(), sites, tracker: RunTracker::default() }
    }

    fn write(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes());
    }

    fn mark_step(&self, ending: &TaskEnding) -> String {
        let level = if ending.allowed_to_fail { "warning" } else { "error" };
        let mut text = String::new();
        if ending.failed_checks.is_empty() {
            text.clone_from(&ending.reason);
        }
        for verdict in &ending.failed_checks {
            let _ = write!(text, "\n{}", finding_text(verdict));
        }
        if !ending.output_tail.is_empty() {
            let _ = write!(text, "\n{}", ending.output_tail.join("\n"));
        }
        let site = self.sites.step(&ending.run.plan, &ending.step);
        let title = format!("{} failed", ending.subject());
        self.mark(level, site, &title, text.trim())
    }

    fn mark(&self, level: &str, site: Option<&DeclarationSite>, title: &str, text: &str) -> String {
        let path = site.map_or(&self.path, |site| &site.path);
        let line = site.map_or(1, |site| site.line).to_string();
        let path = path_from_top(&self.folder, path);
        let properties = [("file", path.as_str()), ("line", &line), ("title", title)];
        annotation(level, &properties, text)
    }
}

impl<W: Write> RunObserver for GithubAnnotator<W> {
    fn event(&mut self, run: &RunRef, event: &Event) {
        match self.tracker.event(run, event) {
            Some(RunNotification::Ended(ending)) => {
                let is_told = ending.nested && ending.failed_checks.is_empty();
                if ending.state == StepState::Failed && !is_told {
                    let text = self.mark_step(&ending);
                    self.write(&text);
                }
            }
            Some(RunNotification::Judged { plan, subject, verdict }) if !verdict.passed() => {
                let site = self.sites.check(&plan, &verdict.name);
                let title = format!("{subject} failed");
                let text = self.mark("error", site, &title, &finding_text(&verdict));
                self.write(&text);
            }
            _ => {}
        }
    }

    fn replayed(&mut self, run: &RunRef, event: &Event) {
        self.tracker.replay(run, event);
    }

    fn output(&mut self, run: &RunRef, attempt: &Attempt, _: OutputStream, bytes: &[u8]) {
        self.tracker.output(run, attempt, bytes);
    }

    fn wants_output(&self) -> OutputInterest {
        OutputInterest::Ends
    }
}

fn finding_text(verdict: &CheckVerdict) -> String {
    format!("{}: {}", verdict.name, verdict.mismatch())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{DeclarationSites, GithubAnnotator};
    use crate::follow::TaskEnding;
    use wf_base::name::{Name, PlanId, RunId};
    use wf_core::{
        machine::{Standing, StepState},
        observe::RunRef,
    };

    #[test]
    fn an_annotation_is_one_line() {
        let ending = TaskEnding {
            run: RunRef {
                id: RunId::from_stored("ab"),
                plan: PlanId::parse("demo").unwrap(),
                path: Vec::new(),
            },
            task: "build".into(),
            step: Name::parse("build").unwrap(),
            state: StepState::Failed,
            standing: Standing::Unchecked,
            reason: "exit code 2".into(),
            failure_class: None,
            allowed_to_fail: false,
            cached: false,
            duration: None,
            attempts: 1,
            failed_checks: Vec::new(),
            output_tail: vec!["no such file: 100%".into()],
            nested: false,
            server: None,
        };
        let expected =
            "::error file=svc/plans/a.md,line=1,title=build failed::exit code 2%0Ano such file: 100%25\n";
        let actions =
            GithubAnnotator::new(Vec::new(), PathBuf::from("svc"), "plans/a.md", DeclarationSites::default());
        assert_eq!(actions.mark_step(&ending), expected);
    }
}
