use std::io;

use crate::cli::{Exit, Failure, Ui};
use crate::name::PlanId;
use crate::store::{ConnectionRow, ConnectionState, Durability, Reader, Store, StoreError};

/// Opens the state to record something about connections.
pub fn ledger(ui: &Ui) -> Result<Store, Failure> {
    let state = ui.workspace().state;
    Ok(Store::open(&state, Durability::Full, ui.env.clock())?)
}

/// The connections that there are; nothing where there is no state.
pub fn rows(ui: &Ui) -> Result<Vec<ConnectionRow>, Failure> {
    let mut rows = match Reader::open(&ui.workspace().state) {
        Ok(reader) => reader.connections()?,
        Err(StoreError::NoState(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    rows.retain(|row| row.state != ConnectionState::Removed);
    Ok(rows)
}

/// A connection that somebody named.
pub fn named(ui: &Ui, name: &PlanId) -> Result<ConnectionRow, Failure> {
    let rows = rows(ui)?;
    let row = rows.iter().find(|row| row.name == *name);
    row.cloned().ok_or_else(|| {
        let failure = Failure::new(Exit::Usage, format!("there is no connection `{name}`"));
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        match names.as_slice() {
            [] => failure.hint(format!("wf connection add {name} --skill SKILL makes one")),
            names => failure.hint(format!("there are {}", names.join(", "))),
        }
    })
}

/// What waits for scripts.
pub(super) fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}
