use crate::{Caller, CommandError, Host, keys::author, watch};
use wf_base::name::SessionName;
use wf_core::session::{SessionChange, SessionRecord};
use wf_store::{Store, StoreDurability, feed::WorkspaceAction};

/// Begins a session, which is current from then on.
pub fn begin_session(caller: &dyn Caller, name: &SessionName) -> Result<SessionRecord, CommandError> {
    let host = caller.host();
    let record = store(host)?.sessions().begin(name, host.now()).wait()?;
    announce(caller, &record);
    Ok(record)
}

/// Changes a session; returns it as it is then.
pub fn change_session(
    caller: &dyn Caller,
    name: &SessionName,
    change: SessionChange,
) -> Result<SessionRecord, CommandError> {
    let host = caller.host();
    let is_switch = change == SessionChange::Enter;
    let record = store(host)?.sessions().change(name, change, host.now()).wait()?;
    if is_switch {
        let session = Some(name.clone());
        watch::record_quietly(caller, WorkspaceAction::SessionSwitched { session });
    } else {
        announce(caller, &record);
    }
    Ok(record)
}

/// Leaves the current session; returns false if there is none.
pub fn leave_session(caller: &dyn Caller) -> Result<bool, CommandError> {
    let host = caller.host();
    let left = store(host)?.sessions().leave(host.now()).wait()?;
    if left {
        watch::record_quietly(caller, WorkspaceAction::SessionSwitched { session: None });
    }
    Ok(left)
}

fn announce(caller: &dyn Caller, record: &SessionRecord) {
    let act = WorkspaceAction::SessionChanged {
        session: record.name.clone(),
        state: record.state.to_string(),
        key: author(caller.host()).map(|key| key.public.id()),
    };
    watch::record_quietly(caller, act);
}

fn store(host: &Host) -> Result<Store, CommandError> {
    Ok(Store::open(&host.workspace().state, StoreDurability::Full, host.clock())?)
}
