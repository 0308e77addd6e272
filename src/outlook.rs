//! The preview of a retry.

use std::fmt::Write as _;
use std::path::Path;

use wf_app::{CliExitCode, CommandError};
use wf_base::name::RunId;
use wf_base::units::plural;
use wf_base::untrusted::styled_line;
use wf_engine::reuse::{RepeatedRun, RerunReason, StepFate, StepRerun};
use wf_engine::unchanged;
use wf_model::expr::Expr;
use wf_store::{StoreError, StoreReader};

/// The number of steps that are named in one line.
const MAX_NAMED: usize = 5;

/// The preview of a retry.
#[derive(Debug, Default)]
pub struct RetryPreview {
    /// The steps, including nested ones, each with its decision and the reason.
    lines: Vec<(String, &'static str, String)>,
    /// The reused results.
    reused: Vec<String>,
    /// The steps that run again for a reason of their own.
    rerun_roots: Vec<String>,
    downstream: usize,
    deselected: usize,
    /// True if the plan has checks of its own.
    checks: bool,
}

impl RetryPreview {
    /// Collects everything that is known before the run starts.
    pub fn of(root: &Path, reader: &StoreReader, past: &RepeatedRun) -> Result<Self, StoreError> {
        let preview = Self { checks: !past.plan().parts().verify.is_empty(), ..Self::default() };
        let mut collector = PreviewCollector { root, reader, preview };
        collector.collect_steps(past, "")?;
        Ok(collector.preview)
    }

    /// One line: `retries run 1a2b3c4d · reuses 2 results: c, d · runs again: a, b (+3 downstream)`.
    pub fn summary_line(&self, run: &RunId) -> String {
        let mut text =
            format!("retries run {} · reuses {}", run.short(), plural(self.reused.len(), "result"));
        if !self.reused.is_empty() {
            let _ = write!(text, ": {}", abbreviated(&self.reused));
        }
        let again = self.rerun_roots.len() + self.downstream;
        if again == 0 && self.checks {
            text.push_str(" · runs again: only the plan's checks");
        } else if again == 0 {
            text.push_str(" · runs again: no steps");
        } else if self.rerun_roots.is_empty() {
            let _ = write!(text, " · runs again: {}", plural(self.downstream, "step"));
        } else {
            let _ = write!(text, " · runs again: {}", abbreviated(&self.rerun_roots));
            if self.downstream > 0 {
                let _ = write!(text, " (+{} downstream)", self.downstream);
            }
        }
        if self.deselected > 0 {
            let _ = write!(text, " · skips {}", self.deselected);
        }
        format!("{}\n", styled_line(&text))
    }

    /// Lists every step with its decision, one line each.
    pub fn list(&self) -> String {
        let width = self.lines.iter().map(|(name, ..)| name.chars().count());
        let width = width.max().unwrap_or(0);
        let mut text = String::new();
        for (name, verb, reason) in &self.lines {
            let line = format!("  {verb:<10}  {name:<width$}  {reason}");
            let _ = writeln!(text, "{}", styled_line(line.trim_end()));
        }
        text
    }

    fn write_step(&mut self, name: &str, verb: &'static str, reason: &str) {
        self.lines.push((name.to_owned(), verb, reason.to_owned()));
    }
}

/// Fills a preview, plan by plan.
struct PreviewCollector<'a> {
    root: &'a Path,
    reader: &'a StoreReader,
    preview: RetryPreview,
}

impl PreviewCollector<'_> {
    fn collect_steps(&mut self, past: &RepeatedRun, above: &str) -> Result<(), StoreError> {
        let kept = past.reused_results().into_iter();
        self.preview.reused.extend(kept.map(|kept| match kept.item {
            Some(key) => format!("{above}{}[{key}]", kept.step),
            None => format!("{above}{}", kept.step),
        }));
        for (step, fate) in past.fates() {
            let name = format!("{above}{step}");
            match fate {
                StepFate::Reused => self.preview.write_step(&name, "kept", ""),
                StepFate::Settled => self.preview.write_step(&name, "skipped", "as before"),
                StepFate::Deselected => {
                    self.preview.deselected += 1;
                    self.preview.write_step(&name, "left out", "not selected");
                }
                StepFate::Rerun(again) => {
                    self.preview.write_step(&name, "runs again", &again.reason.to_string());
                    self.add_rerun(past, &name, step, again)?;
                }
            }
        }
        Ok(())
    }

    /// Adds a step that runs again, as the steps inside of it that do so where some of them are
    /// reused.
    fn add_rerun(
        &mut self,
        past: &RepeatedRun,
        name: &str,
        step: &wf_base::name::Name,
        again: &StepRerun,
    ) -> Result<(), StoreError> {
        let before = self.preview.rerun_roots.len();
        for key in past.repeated_items(step) {
            let named = match &key {
                Some(key) => format!("{name}[{key}]"),
                None => name.to_owned(),
            };
            if again.reuses_nested
                && let Some(nested) = past.nested(self.reader, step, key.as_deref(), None)?
                && nested.run().is_some()
            {
                let nested = unchanged(self.root, self.reader, nested)?;
                self.collect_steps(&nested, &format!("{named}/"))?;
            } else if key.is_some() && !again.reused_items.is_empty() {
                self.preview.write_step(&named, "runs again", "");
                self.preview.rerun_roots.push(named);
            }
        }
        if self.preview.rerun_roots.len() > before {
            return Ok(());
        }
        if again.reason.is_own() {
            self.preview.rerun_roots.push(name.to_owned());
        } else if again.reason != RerunReason::Finally {
            self.preview.downstream += 1;
        }
        Ok(())
    }
}

/// The first of some names, and the number of the others.
fn abbreviated(all: &[String]) -> String {
    let first: Vec<&str> = all.iter().take(MAX_NAMED).map(String::as_str).collect();
    let more = match all.len() - first.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    first.join(", ") + &more
}

/// Refuses a selection that cannot run: a dependency did not succeed and was not selected.
pub fn check_selection(
    root: &Path,
    reader: &StoreReader,
    past: &RepeatedRun,
    above: &str,
) -> Result<(), CommandError> {
    let plan = past.plan();
    for (step, fate) in past.fates() {
        let StepFate::Rerun(again) = fate else {
            continue;
        };
        for key in past.repeated_items(step) {
            let nested = past.nested(reader, step, key.as_deref(), None)?;
            if let Some(nested) = nested.filter(|_| again.reuses_nested) {
                let nested = unchanged(root, reader, nested)?;
                check_selection(root, reader, &nested, &format!("{above}{step}/"))?;
            }
        }
        let declared = plan.find(step.as_str()).map(|ix| plan.step(ix));
        let asks = |when: &Expr| when.asks_status();
        let Some(declared) = declared.filter(|step| !step.when.as_deref().is_some_and(asks)) else {
            continue;
        };
        for needed in &declared.depends_on {
            let needed = &plan.step(*needed).id;
            if past.fate(needed) == Some(&StepFate::Deselected) {
                let message = format!(
                    "`{above}{step}` depends on `{needed}`, which has no result to reuse and is not selected"
                );
                let failure = CommandError::new(CliExitCode::Usage, message);
                return Err(
                    failure.hint(format!("select it, too: --only {above}{needed} --only {above}{step}"))
                );
            }
        }
    }
    Ok(())
}
