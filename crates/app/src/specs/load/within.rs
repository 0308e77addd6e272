//! The comparison of a text with the envelope of a step that could run it, before any run.

use std::path::Path;

use super::{LoadedPlan, diagnostics_by_file, generated::SnapshotReader, load_named};
use crate::{Caller, CliExitCode, CommandError, Host, RunOptions, normalize_path, relative_path};
use wf_base::{
    diag::{CheckedFile, Code, Diagnostic},
    name::Name,
    source::Span,
};
use wf_core::envelope::{EnvelopeBreach, MAX_PLAN_BYTES, breaches, misfit_params, missing_outputs};
use wf_lang::{DiskFiles, FileReadError, LoadedSpec, SpecFileSource as _};
use wf_model::{GeneratedPlan, Step, StepWork};

/// A step running generated plans, and the plan of that step.
pub struct EnvelopeStep {
    loaded: LoadedPlan,
    step: Name,
}

impl EnvelopeStep {
    /// Finds a step by `PLAN:STEP`, or by `PLAN` if the plan has one such step. On failure the errors of the plan have
    /// been printed.
    pub fn find(caller: &dyn Caller, name: &str) -> Result<Self, CommandError> {
        let is_file = normalize_path(&caller.host().cwd().join(name)).is_file();
        let (plan, step) = match name.rsplit_once(':').filter(|_| !is_file) {
            Some((plan, step)) => (plan, Some(step)),
            None => (name, None),
        };
        // The mistakes of the plan itself are found by checking it.
        let options = RunOptions { is_continuation: true, ..RunOptions::at_present(caller.host(), None) };
        let ready = load_named(caller, Path::new(plan), options)?;
        let generating: Vec<&Step> =
            ready.plan.steps().iter().filter(|step| generated(step).is_some()).collect();
        let generator = match step {
            Some(id) => generating.iter().find(|step| step.id.as_str() == id),
            None if generating.len() == 1 => generating.first(),
            None => None,
        };
        let Some(step) = generator.map(|step| step.id.clone()) else {
            let names: Vec<&str> = generating.iter().map(|step| step.id.as_str()).collect();
            return Err(unknown_step(plan, step, &names));
        };
        Ok(Self { loaded: ready, step })
    }

    /// Checks a file as the step would read it, and compares it with the envelope.
    pub fn check(&self, host: &Host, path: &Path) -> Vec<CheckedFile> {
        let plan = &self.loaded.plan;
        let step = plan.find(self.step.as_str()).map(|ix| plan.step(ix));
        let Some((step, made)) = step.and_then(|step| Some((step, generated(step)?))) else {
            return Vec::new();
        };
        let text = match read(path) {
            Ok(text) => text,
            Err(error) => {
                let shown = relative_path(path, host.cwd());
                let unreadable = Diagnostic::new(Code::FileUnreadable, Span::default(), error.to_string());
                let source = wf_base::source::SourceText::new(shown, "");
                return vec![CheckedFile { source, diagnostics: vec![unreadable] }];
            }
        };
        let reader = SnapshotReader::of(&self.loaded);
        let mut loaded = reader.load(&made.path, &text);
        if !loaded.has_errors() {
            let envelope_breaches = match reader.lower(&loaded) {
                Ok(inner) => {
                    let allowed = breaches(&made.envelope, plan, &inner).into_iter();
                    allowed.chain(misfit_params(made, &inner)).chain(missing_outputs(step, &inner)).collect()
                }
                Err(error) => vec![EnvelopeBreach::of_plan(error.to_string())],
            };
            let breaches = envelope_breaches.into_iter().chain(excess_size(&text));
            let diagnostics: Vec<_> = breaches.map(|breach| (0, self.diagnostic(&loaded, breach))).collect();
            loaded.diagnostics.extend(diagnostics);
            loaded.sort();
        }
        let mut files = diagnostics_by_file(host, &self.loaded.workspace, &loaded);
        if let Some(file) = files.first_mut() {
            file.source = file.source.with_path(relative_path(path, host.cwd()));
        }
        files
    }

    /// Returns a breach at the step or the check that it is in, else at the id of the plan.
    fn diagnostic(&self, loaded: &LoadedSpec, breach: EnvelopeBreach) -> Diagnostic {
        let EnvelopeBreach { step, check, reason } = breach;
        let help = format!("mend the text, or what step `{}` of {} says of it", self.step, self.loaded.path);
        Diagnostic::new(Code::EnvelopeBroken, place(loaded, step.as_ref(), check.as_ref()), reason)
            .with_help(help)
    }
}

/// Returns the place where a step, or a check of a step or of the plan, is written.
fn place(loaded: &LoadedSpec, step: Option<&Name>, check: Option<&Name>) -> Span {
    let Some(plan) = loaded.root() else { return Span::default() };
    let written = step.and_then(|id| plan.all_steps().find(|step| step.id.value == *id));
    let named = check.and_then(|name| match written {
        Some(step) => step.checks().find(|check| check.name.value == *name),
        None => plan.checks().find(|check| check.name.value == *name),
    });
    let own = || Some(written?.id.span);
    let id = || plan.id.as_ref().map(|id| id.span);
    named.map(|check| check.name.span).or_else(own).or_else(id).unwrap_or_default()
}

fn generated(step: &Step) -> Option<&GeneratedPlan> {
    match &step.work {
        StepWork::Generated(generated) => Some(generated),
        _ => None,
    }
}

fn read(path: &Path) -> Result<Vec<u8>, FileReadError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    DiskFiles::new(path.parent().unwrap_or(path)).read(&name)
}

fn excess_size(text: &[u8]) -> Option<EnvelopeBreach> {
    let size = text.len();
    (size > MAX_PLAN_BYTES).then(|| {
        EnvelopeBreach::of_plan(format!(
            "it has {size} bytes; at most {MAX_PLAN_BYTES} of a generated plan are read"
        ))
    })
}

/// Returns the error for a step without generated plans, or unnamed among several.
fn unknown_step(plan: &str, step: Option<&str>, step_names: &[&str]) -> CommandError {
    let message = match (step, step_names.is_empty()) {
        (_, true) => format!("no step of {plan} runs a generated plan"),
        (Some(step), false) => format!("{plan} has no step `{step}` that runs a generated plan"),
        (None, false) => format!("several steps of {plan} run generated plans: {}", step_names.join(", ")),
    };
    let hint = match step_names.first() {
        Some(first) => format!("name one of its steps: --envelope {plan}:{first}"),
        None => "such a step has `uses` with `within`: docs/language/nested-plans.md".to_owned(),
    };
    CommandError::new(CliExitCode::Usage, message).hint(hint)
}
