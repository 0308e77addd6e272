use std::sync::Arc;

use super::{LoadedPlan, load_with_gates, read_config, recorded::memory_files};
use crate::{CONFIG, RunOptions, config::WorkspaceConfig};
use wf_base::diag::Severity;
use wf_engine::PlanReader;
use wf_lang::{self as lang, InMemoryFiles, LoadedSpec, LoweringError};
use wf_model::Plan;

/// A reader of plans made by a run. They see the files the run was started with, and no others.
pub struct SnapshotReader {
    files: InMemoryFiles,
    config: WorkspaceConfig,
}

impl SnapshotReader {
    /// Reads with the files and the configuration of a plan.
    pub fn of(loaded: &LoadedPlan) -> Self {
        Self { files: memory_files(loaded.sources.clone()), config: loaded.config.clone() }
    }

    pub fn recorded(files: InMemoryFiles, options: RunOptions) -> Self {
        let config = read_config(&files, CONFIG).map(|(config, _)| config).unwrap_or_default();
        Self { files, config: config.with_strictness(options.strict) }
    }

    /// Loads a text under a path, with all its diagnostics.
    pub(super) fn load(&self, path: &str, text: &[u8]) -> LoadedSpec {
        let mut files = self.files.clone();
        files.0.insert(path.to_owned(), text.to_vec());
        load_with_gates(&files, path, &self.config.gates())
    }

    /// Makes a plan of a text without errors.
    pub(super) fn lower(&self, loaded: &LoadedSpec) -> Result<Arc<Plan>, GeneratedPlanError> {
        if loaded.goal().is_some() || loaded.gates.contains_key(&0) {
            return Err(GeneratedPlanError::OtherKind);
        }
        Ok(lang::lower(loaded, &self.config.defaults)?)
    }
}

/// The reason why a text is not a plan, though it has no errors.
#[derive(Debug, thiserror::Error)]
pub(super) enum GeneratedPlanError {
    #[error("it is not a plan: write `kind: plan`")]
    OtherKind,
    #[error(transparent)]
    Lowering(#[from] LoweringError),
}

impl PlanReader for SnapshotReader {
    fn read_plan(&self, path: &str, text: &str) -> Result<Arc<Plan>, Vec<String>> {
        let loaded = self.load(path, text.as_bytes());
        if loaded.has_errors() {
            return Err(mistakes(&loaded));
        }
        self.lower(&loaded).map_err(|error| vec![error.to_string()])
    }
}

/// Returns the errors of a plan, each with its line and its remedy.
fn mistakes(loaded: &LoadedSpec) -> Vec<String> {
    let errors = loaded.diagnostics.iter();
    let errors = errors.filter(|(_, mistake)| mistake.severity() == Severity::Error);
    let mistake = |(file, mistake): &(usize, wf_base::diag::Diagnostic)| {
        let source = loaded.sources.get(*file);
        let place = source.map(|source| {
            let line = source.line_column(mistake.span.start).line;
            if *file == 0 { format!("line {line}: ") } else { format!("{}, line {line}: ", source.path()) }
        });
        let help = mistake.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        format!("{}{}{help}", place.unwrap_or_default(), mistake.message)
    };
    errors.map(mistake).collect()
}

#[cfg(test)]
mod tests;
