//! The start of a run that undoes another one.

use crate::load::{LoadedPlan, load_recorded_plan_at};
use crate::sessions::active_session;
use crate::{Caller, CliExitCode, CommandError};
use serde_json::json;
use wf_base::name::{RunId, SessionName};
use wf_base::time::Moment;
use wf_core::machine::RunOutcome;
use wf_core::undo::UndoOffer;
use wf_model::JsonObject;
use wf_store::{RunRow, RunState, StoreError, StoreReader, UNDO_OF};

/// The run that undoes another one, ready to start.
pub struct UndoStart {
    /// The plan that undoes it, as the run was recorded with it.
    pub ready: LoadedPlan,
    /// The parameters that were recorded when the run ended.
    pub params: JsonObject,
    /// The session of the run.
    pub session: Option<SessionName>,
    /// The configuration of the new run, which names the run that it undoes.
    pub config: serde_json::Value,
}

impl UndoStart {
    /// Decides whether a run may be undone now, and loads what undoes it.
    pub fn of(
        caller: &dyn Caller,
        reader: &StoreReader,
        run: &RunId,
        now: Moment,
    ) -> Result<Self, CommandError> {
        let row = reader.run(run)?;
        let offer = offer(&row)?;
        let refused = |refusal| StoreError::Undo(run.clone(), refusal);
        offer.decide(&reader.undos(run)?, now).map_err(refused)?;
        let ready = load_recorded_plan_at(caller, reader, run, &offer.path)?;
        let session = match &row.session {
            Some(name) => active_session(&ready.workspace.state, Some(name))?,
            None => None,
        };
        let config = ready.options.write_to(json!({ UNDO_OF: run }));
        Ok(Self { params: offer.params.clone(), session, config, ready })
    }
}

/// Returns the recorded means to undo a run.
fn offer(row: &RunRow) -> Result<&UndoOffer, CommandError> {
    let short = row.id.short();
    if let Some(offer) = &row.undo {
        return Ok(offer);
    }
    let refuse = |what: &str, help: String| {
        Err(CommandError::new(CliExitCode::Usage, format!("run {short} {what}")).hint(help))
    };
    match row.state {
        RunState::Running => {
            refuse("has not finished", format!("wait until it finishes, or cancel it: wf cancel {short}"))
        }
        RunState::Ended(RunOutcome::Succeeded) => refuse(
            "cannot be undone: its plan has no `undo`",
            "write a plan that restores what the run changed; `undo: {uses: PLAN.md}` offers it after the next run"
                .to_owned(),
        ),
        RunState::Ended(outcome) => refuse(
            &format!("did not succeed ({}), and only a successful run can be undone", outcome.as_str()),
            "write a plan that restores what the run changed, and run it".to_owned(),
        ),
    }
}
