use serde::Serialize;

use super::ledger::{connection_rows, find_connection};
use crate::{CommandError, Host};
use wf_base::{digest::Sha256Digest, name::PlanId, time::Moment};
use wf_core::connection::ConnectionState;
use wf_model::AuthMethod;
use wf_store::ConnectionRow;

/// A connection as it is recorded. It has no secret.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectionRecord {
    #[serde(rename = "connection")]
    pub name: PlanId,
    pub state: ConnectionState,
    /// The skill maintaining it.
    pub skill: String,
    /// The skill's folder, relative to the workspace.
    pub folder: String,
    /// The digest of the skill's files when it was set up.
    pub digest: Sha256Digest,
    /// The method of authentication.
    pub auth: AuthMethod,
    /// The account, as the user calls it.
    pub account: Option<String>,
    /// The permissions granted by the service.
    pub permissions: Vec<String>,
    /// The time of its first setup.
    pub created: Moment,
    /// The time of its last health check.
    pub checked: Option<Moment>,
    pub token_expires_at: Option<Moment>,
    #[serde(rename = "refresh_token_expires_at")]
    pub refresh_expires_at: Option<Moment>,
    /// The time of the last refresh of its token.
    pub last_refresh: Option<Moment>,
    /// The time of its last use by a step.
    pub last_used: Option<Moment>,
    /// The failure of the last health check.
    pub failure: Option<RecordedConnectionFailure>,
}

/// The failure of a connection as it is recorded.
#[derive(Clone, Debug, Serialize)]
pub struct RecordedConnectionFailure {
    pub kind: String,
    pub message: String,
}

impl From<ConnectionRow> for ConnectionRecord {
    fn from(row: ConnectionRow) -> Self {
        Self {
            name: row.name,
            state: row.state,
            skill: row.skill,
            folder: row.folder,
            digest: row.digest,
            auth: row.auth,
            account: row.account,
            permissions: row.permissions,
            created: row.created,
            checked: row.checked,
            token_expires_at: row.token_expires_at,
            refresh_expires_at: row.refresh_expires_at,
            last_refresh: row.last_refresh,
            last_used: row.last_used,
            failure: row.failure.map(|(kind, message)| RecordedConnectionFailure { kind, message }),
        }
    }
}

/// Returns the connections of the workspace; none where there is no state.
pub fn list_connections(host: &Host) -> Result<Vec<ConnectionRecord>, CommandError> {
    Ok(connection_rows(host)?.into_iter().map(ConnectionRecord::from).collect())
}

/// Returns a connection named by the user.
pub fn read_connection(host: &Host, name: &PlanId) -> Result<ConnectionRecord, CommandError> {
    find_connection(host, name).map(ConnectionRecord::from)
}
