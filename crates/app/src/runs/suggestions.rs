//! The decisions of people about the suggestions of runs: one is started as `wf run` would, or dismissed.

use super::{background::start_in_background, plan_start::require_login_start, run_start::RunStart};
use crate::{
    Caller, CommandError, Host, RunOptions, caller::person_key, sessions::active_session,
    specs::load::load_plan, watch,
};
use serde_json::json;
use wf_base::{name::RunId, remedy::UserAction};
use wf_core::suggestion::{SuggestionRecord, SuggestionState};
use wf_lang::DiskFiles;
use wf_model::resolve_params;
use wf_store::{
    SUGGESTION, Store, StoreDurability, StoreError, StoreReader, allow_no_state, feed::WorkspaceAction,
};

/// Loads the plan a suggestion names, as it is now, with the parameters it has. The run, once it is recorded, is
/// the only one the suggestion starts.
pub fn suggestion_start(caller: &dyn Caller, number: u32) -> Result<RunStart, CommandError> {
    let record = StoreReader::from_whole_log(&caller.host().workspace().state)?.suggestions().get(number)?;
    record.require_pending().map_err(StoreError::Suggestion)?;
    let workspace = caller.host().workspace();
    let files = DiskFiles::new(&workspace.root);
    let options = RunOptions::at_present(caller.host(), None);
    let loaded = load_plan(caller, &files, workspace, record.suggestion.path, options)?;
    let params = resolve_params(&loaded.plan.parts().params, &record.suggestion.params)?;
    let session = active_session(&loaded.workspace.state, None)?;
    let config = loaded.options.write_to(json!({ SUGGESTION: number }));
    Ok(RunStart { loaded, params, session, config, backend: None, requested_run: None })
}

/// Starts the plan of a suggestion, at the request of a browser, in a process of its own. Returns the run.
pub fn request_suggestion(caller: &dyn Caller, number: u32) -> Result<RunId, CommandError> {
    let host = caller.host();
    let state = host.workspace().state;
    let start = suggestion_start(caller, number)?;
    require_login_start(caller, &start.loaded, UserAction::AcceptSuggestion(number))?;
    watch::record_act(caller, WorkspaceAction::SuggestionRequested { suggestion: number })?;
    let started_run = || Ok(StoreReader::open(&state)?.suggestions().get(number)?.started);
    start_in_background(host, &["suggestion", "accept", &number.to_string()], &started_run)
}

/// Returns the suggestions of the workspace, all or only those that are pending; none where there is no state.
pub fn list_suggestions(host: &Host, only_pending: bool) -> Result<Vec<SuggestionRecord>, CommandError> {
    let state = only_pending.then_some(SuggestionState::Pending);
    let reader = allow_no_state(StoreReader::open(&host.workspace().state))?;
    Ok(reader.map_or_else(|| Ok(Vec::new()), |reader| reader.suggestions().list(state))?)
}

/// Dismisses a suggestion: its plan is not suggested for a while.
pub fn dismiss_suggestion(caller: &dyn Caller, number: u32) -> Result<SuggestionRecord, CommandError> {
    let host = caller.host();
    let store = Store::open(&host.workspace().state, StoreDurability::Full, host.clock())?;
    let dismissed = store.suggestions().dismiss(number, host.now()).wait()?;
    let key = person_key(caller).map(|key| key.public.id());
    let act = WorkspaceAction::SuggestionDismissed { suggestion: number, key };
    watch::record_quietly(caller, act);
    Ok(dismissed)
}
