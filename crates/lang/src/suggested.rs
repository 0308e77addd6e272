//! The plans that the runs of a plan may suggest. They are not loaded: a person starts one as it is by then.

use super::{LoadedSpec, SpecFileSource};
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Spanned;

/// Returns the mistakes in naming plans that may be suggested: those that are not there.
pub(super) fn missing(loaded: &LoadedSpec, files: &dyn SpecFileSource, file: usize) -> Vec<Diagnostic> {
    let plan = loaded.plans.get(file).and_then(Option::as_ref);
    let named = plan.and_then(|plan| plan.suggests.as_ref()).into_iter().flat_map(|suggests| &suggests.plans);
    let refused = named.filter_map(|plan: &Spanned<String>| {
        let reason = match loaded.resolve(file, &plan.value) {
            None => "the path is outside the workspace",
            Some(path) if files.is_missing(&path) => "no such file",
            Some(_) => return None,
        };
        let message = format!("cannot suggest `{}`: {reason}", plan.value);
        Some(Diagnostic::new(Code::UsesUnreadable, plan.span, message))
    });
    refused.collect()
}
