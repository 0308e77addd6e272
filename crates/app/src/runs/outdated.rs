//! The changes under a run while no engine worked on it.

use std::sync::Arc;

use crate::{Caller, CommandError, specs::load::LoadedPlan};
use wf_base::{name::RunId, remedy::UserAction};
use wf_engine::reuse::{RepeatChoice, RepeatRequest, RepeatedRun};
use wf_store::StoreReader;

/// Warns of results that changed since the run left them: the remaining steps read them as they are now.
pub fn warn_of_changed_results(
    caller: &dyn Caller,
    reader: &StoreReader,
    run: &RunId,
    loaded: &LoadedPlan,
) -> Result<(), CommandError> {
    let request = RepeatRequest {
        run: Some(run.clone()),
        earlier_plan: Some(Arc::clone(&loaded.plan)),
        current_plan: Arc::clone(&loaded.plan),
        choice: RepeatChoice::default(),
    };
    let so_far = RepeatedRun::from_request(reader, request, &reader.runs().get(run)?.params)?;
    let outdated = wf_engine::outdated(&loaded.workspace.root, reader, &so_far)?;
    for result in &outdated {
        let item = result.item.as_ref().map(|key| format!("[{key}]"));
        let item = item.unwrap_or_default();
        caller.message_line(&format!(
            "warning: `{}{item}` has changed since run {}: {}; its dependents read the current version",
            result.step,
            run.short(),
            result.reason
        ));
    }
    if !outdated.is_empty() {
        let actions = [UserAction::CancelRun(run.clone()), UserAction::RetryRun(run.clone())];
        let [cancel, retry] = actions.map(|action| caller.action_words(&action));
        caller.message_line(&format!("to run it again instead: {cancel}; {retry}"));
    }
    Ok(())
}
