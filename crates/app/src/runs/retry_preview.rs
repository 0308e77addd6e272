//! The preview of a retry.

use std::path::Path;

use crate::{CliExitCode, CommandError};
use wf_engine::reuse::{RepeatedRun, RerunReason, StepFate, StepRerun};
use wf_engine::unchanged;
use wf_model::expr::Expr;
use wf_store::{StoreError, StoreReader};

/// A step of a retry, with what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewedStep {
    pub name: String,
    pub decision: &'static str,
    pub reason: String,
}

/// The preview of a retry.
#[derive(Debug, Default)]
pub struct RetryPreview {
    /// The steps, including nested ones, each with its decision and the reason.
    pub steps: Vec<PreviewedStep>,
    /// The reused results.
    pub reused: Vec<String>,
    /// The steps that run again for a reason of their own.
    pub rerun_roots: Vec<String>,
    /// The number of those that run again because of another step.
    pub downstream: usize,
    /// The number of those that are not selected.
    pub deselected: usize,
    /// True if the plan has checks of its own.
    pub has_checks: bool,
}

impl RetryPreview {
    /// Collects everything that is known before the run starts.
    pub(super) fn of(root: &Path, reader: &StoreReader, past: &RepeatedRun) -> Result<Self, StoreError> {
        let preview = Self { has_checks: !past.plan().parts().verify.is_empty(), ..Self::default() };
        let mut collector = PreviewCollector { root, reader, preview };
        collector.collect_steps(past, "")?;
        Ok(collector.preview)
    }

    fn write_step(&mut self, name: &str, decision: &'static str, reason: &str) {
        self.steps.push(PreviewedStep { name: name.to_owned(), decision, reason: reason.to_owned() });
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
                && nested.run_id().is_some()
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

/// Refuses a selection that cannot run: a dependency did not succeed and was not selected.
pub(super) fn check_selection(
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
