use serde::Serialize;
use serde_json::{Value, json};

use crate::connections::connection_rows;
use crate::state::call_findings::RecordedCalls;
use crate::{Caller, CommandError};
use wf_base::time::Moment;
use wf_core::health::CallTarget;
use wf_store::ConnectionRow;

/// A connection, with the calls of its service.
#[derive(Debug, Serialize)]
pub struct ConnectionView {
    /// The connection, as `wf connection list --json` has it.
    pub connection: Value,
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
    let view = |row: &ConnectionRow| {
        let health = calls.of(&CallTarget::connection(&row.name)).cloned().unwrap_or_default();
        ConnectionView {
            connection: connection_document(row),
            breaker_until: health.open_at(now),
            succeeded_at: health.succeeded_at,
            failed_at: health.failed_at,
            error: health.error,
        }
    };
    Ok(connection_rows(caller.host())?.iter().map(view).collect())
}

/// Returns a connection as a document. It has no secret.
pub fn connection_document(row: &ConnectionRow) -> Value {
    json!({
        "connection": row.name,
        "state": row.state,
        "skill": row.skill,
        "folder": row.folder,
        "digest": row.digest.to_string(),
        "auth": row.auth,
        "account": row.account,
        "permissions": row.permissions,
        "created": row.created,
        "checked": row.checked,
        "token_expires_at": row.token_expires_at,
        "refresh_token_expires_at": row.refresh_expires_at,
        "last_refresh": row.last_refresh,
        "last_used": row.last_used,
        "failure": row.failure.as_ref().map(|(kind, message)| json!({"kind": kind, "message": message})),
    })
}
