use std::io;

use crate::{CliExitCode, CommandError, Host};
use wf_base::{name::PlanId, remedy::UserAction};
use wf_core::connection::ConnectionState;
use wf_store::{ConnectionRow, Store, StoreDurability, StoreReader, allow_no_state};

/// Opens the state to record something about connections.
pub(crate) fn open_connection_store(host: &Host) -> Result<Store, CommandError> {
    let state = host.workspace().state;
    Ok(Store::open(&state, StoreDurability::Full, host.clock())?)
}

/// Returns the connections; none where there is no state.
pub(crate) fn connection_rows(host: &Host) -> Result<Vec<ConnectionRow>, CommandError> {
    let reader = allow_no_state(StoreReader::open(&host.workspace().state))?;
    let mut rows = reader.map_or_else(|| Ok(Vec::new()), |reader| reader.connections().all())?;
    rows.retain(|row| row.state != ConnectionState::Removed);
    Ok(rows)
}

/// Returns a connection named by the user.
pub(super) fn find_connection(host: &Host, name: &PlanId) -> Result<ConnectionRow, CommandError> {
    let rows = connection_rows(host)?;
    let row = rows.iter().find(|row| row.name == *name);
    row.cloned().ok_or_else(|| {
        let error = CommandError::new(CliExitCode::Usage, format!("unknown connection `{name}`"));
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        match names.as_slice() {
            [] => error.remedy("add it: ", UserAction::AddConnection { name: name.clone(), skill: None }),
            names => error.hint(format!("the connections are {}", names.join(", "))),
        }
    })
}

/// The runtime waiting for scripts.
pub(super) fn script_runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
