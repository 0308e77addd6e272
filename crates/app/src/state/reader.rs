use std::ops::Deref;
use std::sync::Arc;

use crate::connections::waiting_secrets;
use crate::specs::load::PlanCache;
use crate::{Caller, CommandError};
use wf_base::name::RunId;
use wf_model::Plan;
use wf_store::{FindError, ReaderPool, StoreReader, ViewReader, allow_no_state};

/// The things that the views of one server have in common: readers of the state that stay open, and plans that were read.
#[derive(Clone, Debug, Default)]
pub struct ViewResources {
    readers: ReaderPool,
    plans: Arc<PlanCache>,
}

/// The state as of one instant, as a view reads it.
#[derive(Debug)]
pub struct StateReader {
    reader: ViewReader,
    plans: Arc<PlanCache>,
}

/// The most events of a run, with those nested in it, that a page compares with the tables: each view of a run that goes
/// on compares all of them.
const MAX_COMPARED_EVENTS: u64 = 5_000;

impl StateReader {
    /// Returns the plan that a run was recorded with; `None` if it is not a valid plan any more.
    pub(crate) fn plan(&self, run: &RunId) -> Result<Option<Arc<Plan>>, CommandError> {
        self.plans.plan(&self.reader, run)
    }
}

impl Deref for StateReader {
    type Target = StoreReader;

    fn deref(&self) -> &StoreReader {
        &self.reader
    }
}

/// Opens the state for a view; `None` if there is none yet.
pub fn state_reader(caller: &dyn Caller) -> Result<Option<StateReader>, CommandError> {
    let ViewResources { readers, plans } = caller.view_resources();
    let reader = allow_no_state(readers.view(&caller.host().workspace().state))?;
    Ok(reader.map(|reader| StateReader { reader, plans }))
}

/// Opens the state for what is shown of the run that an address names, from the log where the tables hold something else;
/// `None` if there is no such run, or more than one.
pub fn run_reader(caller: &dyn Caller, prefix: &str) -> Result<Option<(StateReader, RunId)>, CommandError> {
    let Some(StateReader { reader, plans }) = state_reader(caller)? else {
        return Ok(None);
    };
    let Some(run) = find_run(&reader, prefix)? else {
        return Ok(None);
    };
    let reader = reader.of_run(&run, MAX_COMPARED_EVENTS)?;
    Ok(Some((StateReader { reader, plans }, run)))
}

/// Returns the run that an address names; `None` if there is no such run, or more than one.
pub fn find_run(reader: &StoreReader, prefix: &str) -> Result<Option<RunId>, CommandError> {
    match reader.find_run(prefix) {
        Ok(run) => Ok(Some(run)),
        Err(
            FindError::Unknown { .. }
            | FindError::Pruned { .. }
            | FindError::NoRuns
            | FindError::Ambiguous(_),
        ) => Ok(None),
        Err(FindError::Store(error)) => Err(error.into()),
    }
}

/// Returns a text that is another one after each change that a view may show: the number of the last event of the log,
/// and the secrets that setups wait for, which are in no log.
pub fn view_version(caller: &dyn Caller, reader: &StoreReader) -> Result<String, CommandError> {
    let mut version = reader.log_end()?.map_or(0, |end| end.seq).to_string();
    for prompt in waiting_secrets(caller) {
        version += &format!("+{}/{}@{}", prompt.connection, prompt.ref_id, prompt.since);
    }
    Ok(version)
}
