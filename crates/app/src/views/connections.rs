use serde::Serialize;

use crate::{
    Caller, CommandError,
    connections::{ConnectionRecord, list_connections},
    state::call_findings::RecordedCalls,
};
use wf_base::time::Moment;
use wf_core::health::CallTarget;

/// A connection, with the calls of its service.
#[derive(Debug, Serialize)]
pub struct ConnectionView {
    /// The connection, as `wf connection list --json` has it.
    pub connection: ConnectionRecord,
    /// The end of the time in which its service is left alone, since calls failed.
    pub breaker_until: Option<Moment>,
    /// The last call that succeeded.
    pub succeeded_at: Option<Moment>,
    /// The last call that failed.
    pub failed_at: Option<Moment>,
    /// The error of that call.
    pub error: String,
}

/// Returns the connections, by name.
pub fn connection_views(caller: &dyn Caller) -> Result<Vec<ConnectionView>, CommandError> {
    let (calls, now) = (RecordedCalls::read(caller.host()), caller.host().now());
    let view = |record: ConnectionRecord| {
        let health = calls.of(&CallTarget::connection(&record.name)).cloned().unwrap_or_default();
        ConnectionView {
            connection: record,
            breaker_until: health.open_at(now),
            succeeded_at: health.succeeded_at,
            failed_at: health.failed_at,
            error: health.error,
        }
    };
    Ok(list_connections(caller.host())?.into_iter().map(view).collect())
}
