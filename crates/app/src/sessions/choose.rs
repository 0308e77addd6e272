use std::path::Path;

use crate::{CliExitCode, CommandError};
use wf_base::{
    name::SessionName,
    remedy::{Remedy, UserAction},
};
use wf_core::session::{SessionRecord, SessionRefusal};
use wf_store::{StoreError, StoreReader};

/// Returns the session in which something begins: the given one, which must be active, or the current one; `None`: it
/// belongs to no session.
pub fn active_session(
    state: &Path,
    named: Option<&SessionName>,
) -> Result<Option<SessionName>, CommandError> {
    let reader = match (StoreReader::open(state), named) {
        (Ok(reader), _) => reader,
        (Err(StoreError::NoState(_)), None) => return Ok(None),
        (Err(StoreError::NoState(_)), Some(name)) => {
            return Err(StoreError::Session(SessionRefusal::Unknown(name.clone())).into());
        }
        (Err(error), _) => return Err(error.into()),
    };
    let session = match named {
        Some(name) => Some(reader.sessions().get(name)?),
        None => reader.sessions().current()?,
    };
    let Some(session) = session else {
        return Ok(None);
    };
    session.require_active().map_err(StoreError::Session)?;
    Ok(Some(session.name))
}

/// Returns the session for a command: the given one, or the current one.
pub fn named_or_current(
    reader: &StoreReader,
    named: Option<&SessionName>,
) -> Result<SessionRecord, CommandError> {
    if let Some(name) = named {
        return Ok(reader.sessions().get(name)?);
    }
    reader.sessions().current()?.ok_or_else(|| {
        CommandError::new(CliExitCode::Usage, "no session is current")
            .hint(Remedy::from("name one; `").action(UserAction::ListSessions).text("` lists them"))
    })
}
