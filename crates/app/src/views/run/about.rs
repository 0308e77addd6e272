//! The background of a run: its plan in prose and as it ran, and the runs that belong to it.

use serde::Serialize;
use serde_json::Value;

use super::{
    task::{name_attempts, nested_rows},
    view::{PAGE_NESTED, RunScope},
};
use crate::CommandError;
use wf_base::units;
use wf_lang::prose_html;

/// The most texts of a page, and the most bytes of one.
const MAX_SOURCES: usize = 20;
const MAX_SOURCE_BYTES: usize = 200_000;

/// The background of a run.
#[derive(Debug, Serialize)]
pub struct RunAbout {
    /// The prose of its plan as HTML; empty if it has none.
    pub prose: String,
    /// The texts that it executes, as they were when it began, its plan first.
    pub sources: Vec<RunSource>,
    /// The number of further texts.
    pub more_sources: usize,
    /// The runs nested in it, as `wf runs --json` has them, each with the `attempt` that it is nested in.
    pub nested: Vec<Value>,
    /// The number of the others.
    pub more_nested: usize,
}

/// A text that a run executes.
#[derive(Debug, Serialize)]
pub struct RunSource {
    pub path: String,
    pub text: String,
    /// The size of the whole text, if its end is left out.
    pub cut: Option<String>,
}

/// Returns the background of a run.
pub(super) fn about(scope: &RunScope<'_>) -> Result<RunAbout, CommandError> {
    let texts = scope.store().sources().of_run(scope.run)?;
    let mut nested = nested_rows(scope.record);
    let more_nested = nested.len().saturating_sub(PAGE_NESTED);
    nested.truncate(PAGE_NESTED);
    name_attempts(scope.store(), scope.run, &mut nested)?;
    Ok(RunAbout {
        prose: texts.first().map(|(_, text)| prose_html(text)).unwrap_or_default(),
        more_sources: texts.len().saturating_sub(MAX_SOURCES),
        sources: texts.into_iter().take(MAX_SOURCES).map(|(path, text)| source_of(path, text)).collect(),
        nested,
        more_nested,
    })
}

fn source_of(path: String, mut text: String) -> RunSource {
    let cut = (text.len() > MAX_SOURCE_BYTES).then(|| units::size(text.len() as u64));
    text.truncate(text.floor_char_boundary(MAX_SOURCE_BYTES));
    RunSource { path, text, cut }
}
