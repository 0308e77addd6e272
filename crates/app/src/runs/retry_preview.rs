//! The preview of a retry.

use std::path::Path;

use crate::{CliExitCode, CommandError};
use wf_engine::{
    reuse::{RepeatedRun, RerunReason, StepFate, StepRerun},
    unchanged,
};
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
    /// The steps to run again for a reason of their own.
    pub rerun_roots: Vec<String>,
    /// The number of those to run again because of another step.
    pub downstream: usize,
    /// The number of unselected ones.
    pub deselected: usize,
    /// True if the plan has checks of its own.
    pub has_checks: bool,
}

impl RetryPreview {
    /// Collects everything that is known before the run starts.
    pub(super) fn of(
        root: &Path,
        reader: &StoreReader,
        repeated_run: &RepeatedRun,
    ) -> Result<Self, StoreError> {
        let preview = Self { has_checks: !repeated_run.plan().parts().verify.is_empty(), ..Self::default() };
        let mut collector = PreviewCollector { root, reader, preview };
        collector.collect_steps(repeated_run, "")?;
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
    fn collect_steps(&mut self, repeated_run: &RepeatedRun, above: &str) -> Result<(), StoreError> {
        let results = repeated_run.reused_results().into_iter();
        self.preview.reused.extend(results.map(|result| match result.item {
            Some(key) => format!("{above}{}[{key}]", result.step),
            None => format!("{above}{}", result.step),
        }));
        for (step, fate) in repeated_run.fates() {
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
                    self.add_rerun(repeated_run, &name, step, again)?;
                }
            }
        }
        Ok(())
    }

    /// Adds a step to run again, as the steps inside of it where some of them are
    /// reused.
    fn add_rerun(
        &mut self,
        repeated_run: &RepeatedRun,
        name: &str,
        step: &wf_base::name::Name,
        rerun: &StepRerun,
    ) -> Result<(), StoreError> {
        let before = self.preview.rerun_roots.len();
        for key in repeated_run.repeated_items(step) {
            let named = match &key {
                Some(key) => format!("{name}[{key}]"),
                None => name.to_owned(),
            };
            if rerun.reuses_nested
                && let Some(nested) = repeated_run.nested(self.reader, step, key.as_deref(), None)?
                && nested.run_id().is_some()
            {
                let nested = unchanged(self.root, self.reader, nested)?;
                self.collect_steps(&nested, &format!("{named}/"))?;
            } else if key.is_some() && !rerun.reused_items.is_empty() {
                self.preview.write_step(&named, "runs again", "");
                self.preview.rerun_roots.push(named);
            }
        }
        if self.preview.rerun_roots.len() > before {
            return Ok(());
        }
        if rerun.reason.is_own() {
            self.preview.rerun_roots.push(name.to_owned());
        } else if rerun.reason != RerunReason::Finally {
            self.preview.downstream += 1;
        }
        Ok(())
    }
}

/// Refuses a selection that cannot run: a dependency did not succeed and was not selected.
pub(super) fn check_selection(
    root: &Path,
    reader: &StoreReader,
    repeated_run: &RepeatedRun,
    above: &str,
) -> Result<(), CommandError> {
    let plan = repeated_run.plan();
    for (step, fate) in repeated_run.fates() {
        let StepFate::Rerun(again) = fate else {
            continue;
        };
        for key in repeated_run.repeated_items(step) {
            let nested = repeated_run.nested(reader, step, key.as_deref(), None)?;
            if let Some(nested) = nested.filter(|_| again.reuses_nested) {
                let nested = unchanged(root, reader, nested)?;
                check_selection(root, reader, &nested, &format!("{above}{step}/"))?;
            }
        }
        let declared = plan.find(step.as_str()).map(|ix| plan.step(ix));
        let asks = |expr: &Expr| expr.asks_status();
        let Some(declared) = declared.filter(|step| !step.when.as_deref().is_some_and(asks)) else {
            continue;
        };
        for needed in &declared.depends_on {
            let needed = &plan.step(*needed).id;
            if repeated_run.fate(needed) == Some(&StepFate::Deselected) {
                let message = format!(
                    "`{above}{step}` depends on `{needed}`, which has no result to reuse and is not selected"
                );
                let error = CommandError::new(CliExitCode::Usage, message);
                return Err(
                    error.hint(format!("select it, too: --only {above}{needed} --only {above}{step}"))
                );
            }
        }
    }
    Ok(())
}
