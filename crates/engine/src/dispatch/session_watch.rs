//! The look at the session a run belongs to: once it is suspended, the run goes no further.
//!
//! The session is a row of the store another process changes, so it is read now and then. Work under way ends first
//! (`Machine::drain`), unless the person who suspended the session wants it interrupted.

use std::{sync::Arc, time::Duration};

use wf_base::name::SessionName;
use wf_core::session::SessionState;
use wf_store::{StoreError, StoreReader};

use crate::{run::RunContext, session::EngineError};

/// The maximum delay until the suspension of a session is seen.
const SESSION_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Lets all runs drain once their session is not active any more, and returns when their steps are to be interrupted.
pub(super) async fn interruption(run: Arc<RunContext>, session: Option<SessionName>) -> EngineError {
    let Some(name) = session else {
        return std::future::pending().await;
    };
    let mut reader = None;
    loop {
        let (store, wanted) = (Arc::clone(&run.session), name.clone());
        let look = tokio::task::spawn_blocking(move || {
            // What cannot be read now is read the next time: the store tells what is wrong with it.
            let reader: StoreReader = reader.map_or_else(|| store.store.log_reader(), Ok).ok()?;
            let record = reader.sessions().get(&wanted).ok();
            Some((reader, record))
        });
        let (read, record) = look.await.ok().flatten().unzip();
        reader = read;
        if let Some(record) = record.flatten()
            && record.state != SessionState::Active
        {
            if record.interrupts {
                return suspended(&run, name, true);
            }
            run.session.shared.drain.send_if_modified(|drains| !std::mem::replace(drains, true));
        }
        tokio::time::sleep(SESSION_POLL_INTERVAL).await;
    }
}

/// Lets all runs drain once the disk of the state is almost full: work under way ends, in the reserved space.
pub(super) fn drain_if_low(run: &RunContext) {
    if run.session.store.reserve().is_low() {
        run.session.shared.drain.send_if_modified(|drains| !std::mem::replace(drains, true));
    }
}

/// Returns the end of the work on a run of which nothing is under way any more.
pub(super) fn drained(run: &RunContext) -> EngineError {
    if run.session.store.reserve().is_low() {
        return StoreError::NoSpace(run.session.store.folder().database()).into();
    }
    match &run.session_name {
        Some(name) => suspended(run, name.clone(), false),
        None => EngineError::Stuck,
    }
}

fn suspended(run: &RunContext, session: SessionName, is_interrupted: bool) -> EngineError {
    EngineError::SessionSuspended { run: run.run_ref.id.clone(), session, is_interrupted }
}
