use crate::connections::waiting_secrets;
use crate::{Caller, CommandError};
use wf_base::name::RunId;
use wf_store::{FindError, StoreError, StoreReader};

/// Opens the state for reading; `None` if there is none yet.
pub fn state_reader(caller: &dyn Caller) -> Result<Option<StoreReader>, CommandError> {
    match StoreReader::open(&caller.host().workspace().state) {
        Ok(reader) => Ok(Some(reader)),
        Err(StoreError::NoState(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the run that an address names; `None` if there is no such run, or more than one.
pub fn find_run(reader: &StoreReader, prefix: &str) -> Result<Option<RunId>, CommandError> {
    match reader.find_run(prefix) {
        Ok(run) => Ok(Some(run)),
        Err(FindError::Unknown { .. } | FindError::NoRuns | FindError::Ambiguous(_)) => Ok(None),
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
