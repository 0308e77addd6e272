use super::{StepExplanation, failed_checks};
use wf_base::name::RunId;
use wf_store::StepRow;

/// The cache lookup of a task, and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheExplanation {
    /// True if the run uses results of the cache.
    pub reuses: bool,
    /// True if an earlier result was found.
    pub hit: bool,
    /// The run that produced the found result, if it is still known.
    pub producer: Option<RunId>,
    /// The latest earlier run with a lookup, if there is one.
    pub compared_run: Option<RunId>,
    /// The changes since then, one line each.
    pub changes: Vec<String>,
    /// The reason why a result was not used, or not stored.
    pub refused: Option<String>,
}

/// The cached result of a step, and its fate.
pub(super) fn cache_explanation(
    explanation: &StepExplanation<'_>,
    row: &StepRow,
    cache: &CacheExplanation,
) -> Vec<String> {
    if !cache.reuses {
        return vec!["cache not used: the run was started with `--no-cache`".into()];
    }
    if cache.hit {
        return vec![hit_explanation(explanation, row, cache)];
    }
    let refused = cache.refused.clone();
    let Some(against) = &cache.compared_run else {
        let first = "cache miss: no earlier run of the plan stored its result".to_owned();
        return [first].into_iter().chain(refused).collect();
    };
    let short = against.short();
    let mut lines: Vec<String> = refused.into_iter().collect();
    if !lines.is_empty() && cache.changes.is_empty() {
        return lines;
    }
    lines.push(format!("cache miss; changes since run {short}:"));
    lines.extend(cache.changes.iter().map(|change| format!("  {change}")));
    if cache.changes.is_empty() {
        lines.push("  none, but that run stored no result".into());
    }
    lines
}

/// The fate of a result from the cache: its checks may have failed.
fn hit_explanation(explanation: &StepExplanation<'_>, row: &StepRow, cache: &CacheExplanation) -> String {
    let from = match &cache.producer {
        Some(from) => format!("the result of run {}", from.short()),
        None => "an earlier result".to_owned(),
    };
    let broken = failed_checks(explanation, row, 0);
    if !broken.is_empty() {
        return format!("{from} was found, but its checks fail now: {}", broken.join("; "));
    }
    if row.cache_key.is_some() {
        format!("it did not run: its inputs are unchanged, so it reused {from}")
    } else {
        format!("{from} was found, but not used")
    }
}
