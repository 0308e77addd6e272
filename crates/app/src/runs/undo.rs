//! The start of a run that undoes another one.

use super::{background::start_in_background, run_start::RunStart};
use crate::{
    Caller, CliExitCode, CommandError, sessions::active_session, specs::load::load_recorded_plan_at, watch,
};
use serde_json::json;
use wf_base::{
    name::RunId,
    remedy::{Remedy, UserAction},
};
use wf_core::{machine::RunOutcome, undo::UndoOffer};
use wf_store::{RunRow, RunState, StoreError, StoreReader, UNDO_OF, feed::WorkspaceAction};

/// Decides whether a run may be undone now, and loads what undoes it: the plan as the run was recorded with it, with the
/// parameters recorded when the run ended.
pub fn undo_start(caller: &dyn Caller, run: &RunId) -> Result<RunStart, CommandError> {
    let reader = StoreReader::from_whole_log(&caller.host().workspace().state)?;
    undo_start_of(caller, &reader, run)
}

fn undo_start_of(caller: &dyn Caller, reader: &StoreReader, run: &RunId) -> Result<RunStart, CommandError> {
    let now = caller.host().now();
    let row = reader.runs().get(run)?;
    let offer = offer(&row)?;
    let refused = |refusal| StoreError::Undo(run.clone(), refusal);
    offer.decide(&reader.runs().undos(run)?, now).map_err(refused)?;
    let loaded = load_recorded_plan_at(caller, reader, run, &offer.path)?;
    let session = match &row.session {
        Some(name) => active_session(&loaded.workspace.state, Some(name))?,
        None => None,
    };
    let config = loaded.options.write_to(json!({ UNDO_OF: run }));
    let params = offer.params.clone();
    Ok(RunStart { params, session, config, loaded, backend: None, requested_run: None })
}

/// Starts the run that undoes another one, at the request of a browser, in a process of its own. What it waits for are
/// requests of people as of every run. Returns its id.
pub fn request_undo(caller: &dyn Caller, run: &RunId) -> Result<RunId, CommandError> {
    let host = caller.host();
    let state = host.workspace().state;
    let reader = StoreReader::from_whole_log(&state)?;
    undo_start_of(caller, &reader, run)?;
    let before = reader.runs().undos(run)?.len();
    drop(reader);
    let started_run =
        || Ok(StoreReader::open(&state)?.runs().undos(run)?.into_iter().nth(before).map(|undo| undo.run));
    watch::record_act(caller, WorkspaceAction::UndoRequested { run: run.clone() })?;
    start_in_background(host, &["undo", run.as_str()], &started_run)
}

/// Returns the recorded means to undo a run.
fn offer(row: &RunRow) -> Result<&UndoOffer, CommandError> {
    let short = row.id.short();
    if let Some(offer) = &row.undo {
        return Ok(offer);
    }
    let refuse = |what: &str, help: Remedy| {
        Err(CommandError::new(CliExitCode::Usage, format!("run {short} {what}")).hint(help))
    };
    match row.state {
        RunState::Running => {
            let remedy = Remedy::from("wait until it finishes, or cancel it: ");
            refuse("has not finished", remedy.action(UserAction::CancelRun(row.id.clone())))
        }
        RunState::Ended(RunOutcome::Succeeded) => refuse(
            "cannot be undone: its plan has no `undo`",
            "write a plan that restores what the run changed; `undo: {uses: PLAN.md}` offers it after the next run"
                .into(),
        ),
        RunState::Ended(outcome) => refuse(
            &format!("did not succeed ({}), and only a successful run can be undone", outcome.as_str()),
            "write a plan that restores what the run changed, and run it".into(),
        ),
    }
}
