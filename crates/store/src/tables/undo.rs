//! Runs undoing another one: the configuration of such a run names that one.

use serde_json::Value;

use crate::{
    db::writer::WriteContext,
    error::{QueryResult, StoreError},
    tables::batch::NewRun,
    views::runs::undos,
};
use wf_base::name::RunId;
use wf_core::undo::refuse_second;

/// The key of the configuration of a run naming the run it undoes.
pub const UNDO_OF: &str = "undo_of";

/// Refuses a new run undoing another one if a run has undone that, or is about to.
pub(super) fn require_first(writing: &WriteContext<'_>, new: &NewRun) -> QueryResult<()> {
    let Some(undone) = new.config.get(UNDO_OF).and_then(Value::as_str) else {
        return Ok(());
    };
    let others = undos(writing.connection, undone)?;
    let refused = |refusal| StoreError::Undo(RunId::from_stored(undone.to_owned()), refusal);
    Ok(refuse_second(&others).map_err(refused)?)
}
