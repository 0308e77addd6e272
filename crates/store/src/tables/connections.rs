//! The records of connections. They hold no secrets: see `wf_exec::connection_secrets`.

use rusqlite::{Connection, Row};

use crate::{
    column::{JsonColumn, MomentColumn, RowColumns},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket, writer::WriteContext},
    error::{QueryResult, StoreError},
    events::run_events,
    log::state_event::{ApprovalUse, StateEvent, StateFact},
    projections::{row_log, uses},
};
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RefId},
    time::Moment,
};
use wf_core::connection::ConnectionState;
use wf_model::AuthMethod;

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionRow {
    pub name: PlanId,
    /// The skill managing it.
    pub skill: String,
    /// The skill's folder, relative to the workspace.
    pub folder: String,
    /// The digest of the skill's files when it was set up.
    pub digest: Sha256Digest,
    /// The method of authentication.
    pub auth: AuthMethod,
    pub state: ConnectionState,
    /// The account, as the user calls it.
    pub account: Option<String>,
    /// The permissions granted by the service.
    pub permissions: Vec<String>,
    /// The secrets its setup may ask for.
    pub refs: Vec<RefId>,
    /// The time of its first setup.
    pub created: Moment,
    /// The time of its last health check.
    pub checked: Option<Moment>,
    pub token_expires_at: Option<Moment>,
    /// The time its refresh token expires.
    pub refresh_expires_at: Option<Moment>,
    /// The time its token was last refreshed.
    pub last_refresh: Option<Moment>,
    /// The time a step last used it.
    pub last_used: Option<Moment>,
    /// The failure of the last health check: the kind, and a description.
    pub failure: Option<(String, String)>,
}

/// One use of an approval by a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionApprovalUse {
    pub nonce: String,
    /// The number of this use of the approval, from 1.
    pub execution: u32,
    /// The digest of the signed token.
    pub token: Sha256Digest,
}

/// The table `connections`.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionTable<S>(pub(crate) S);

impl ConnectionTable<&Store> {
    /// Records a connection, replacing an earlier record of it. A later time of last use is
    /// preserved.
    pub fn record(self, row: ConnectionRow) -> WriteTicket<()> {
        self.record_by(row, None)
    }

    /// Records a connection together with the use of the approval that allowed it: both or neither,
    /// and no use twice.
    pub fn record_by(
        self,
        row: ConnectionRow,
        approval_use: Option<ConnectionApprovalUse>,
    ) -> WriteTicket<()> {
        self.0.job(move |writing| {
            let at = writing.writer.clock.now();
            if let Some(by) = approval_use {
                record_use(writing, &row.name, by, at)?;
            }
            row_log::change(writing, at, || Ok(write(writing.connection, &row)?))
        })
    }

    /// Records that a step used a connection.
    pub fn record_use(self, name: &PlanId, now: Moment) -> WriteTicket<()> {
        let name = name.clone();
        self.0.row_job(now, move |writing| {
            let sql = "UPDATE connections SET last_used = max(coalesce(last_used, ?2), ?2)
                       WHERE name = ?1";
            writing.connection.execute(sql, (name.as_str(), MomentColumn(now)))?;
            Ok(())
        })
    }
}

impl ConnectionTable<&StoreReader> {
    /// Returns all connections ever recorded, by name, including removed ones.
    pub fn all(self) -> Result<Vec<ConnectionRow>, StoreError> {
        self.0.folded_rows("SELECT * FROM connections ORDER BY name", [], row)
    }
}

/// Records a use of an approval; refused if the log has it already.
fn record_use(
    writing: &WriteContext<'_>,
    name: &PlanId,
    approval_use: ConnectionApprovalUse,
    at: Moment,
) -> QueryResult<()> {
    let ConnectionApprovalUse { nonce, execution, token } = approval_use;
    let used = uses::read_uses(writing.connection, &nonce)?;
    if used.numbers.contains(&execution) {
        return Err(StoreError::UsedUp { execution, executions: execution }.into());
    }
    let one = ApprovalUse { nonce, execution, token, run: format!("connection:{name}") };
    run_events::add_state_event(writing, &StateEvent { at, fact: StateFact::ConnectionApproved(one) })
        .map(drop)
}

/// Writes a connection, or replaces it.
fn write(connection: &Connection, row: &ConnectionRow) -> rusqlite::Result<()> {
    let sql = "INSERT INTO connections (name, skill, folder, digest, auth, state, account,
                   permissions, refs, created, checked, token_expires_at,
                   refresh_expires_at, last_refresh, last_used, failure, message)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,
                   ?16, ?17)
               ON CONFLICT DO UPDATE SET skill = excluded.skill,
                   folder = excluded.folder, digest = excluded.digest,
                   auth = excluded.auth, state = excluded.state,
                   account = excluded.account, permissions = excluded.permissions,
                   refs = excluded.refs, created = excluded.created,
                   checked = excluded.checked,
                   token_expires_at = excluded.token_expires_at,
                   refresh_expires_at = excluded.refresh_expires_at,
                   last_refresh = excluded.last_refresh,
                   last_used = max(coalesce(last_used, excluded.last_used),
                       coalesce(excluded.last_used, last_used)),
                   failure = excluded.failure, message = excluded.message";
    let (failure, message) = row.failure.clone().unzip();
    connection.execute(
        sql,
        rusqlite::params![
            row.name.as_str(),
            row.skill,
            row.folder,
            row.digest.to_string(),
            row.auth.as_str(),
            row.state.as_str(),
            row.account,
            JsonColumn(&row.permissions),
            JsonColumn(&row.refs),
            MomentColumn(row.created),
            row.checked.map(MomentColumn),
            row.token_expires_at.map(MomentColumn),
            row.refresh_expires_at.map(MomentColumn),
            row.last_refresh.map(MomentColumn),
            row.last_used.map(MomentColumn),
            failure,
            message,
        ],
    )?;
    Ok(())
}

fn row(row: &Row<'_>) -> rusqlite::Result<ConnectionRow> {
    let failure: Option<String> = row.get("failure")?;
    let message: Option<String> = row.get("message")?;
    Ok(ConnectionRow {
        name: row.word("name")?,
        skill: row.get("skill")?,
        folder: row.get("folder")?,
        digest: row.word("digest")?,
        auth: row.word("auth")?,
        state: row.word("state")?,
        account: row.get("account")?,
        permissions: row.json("permissions")?,
        refs: row.json("refs")?,
        created: row.moment("created")?,
        checked: row.moment_if("checked")?,
        token_expires_at: row.moment_if("token_expires_at")?,
        refresh_expires_at: row.moment_if("refresh_expires_at")?,
        last_refresh: row.moment_if("last_refresh")?,
        last_used: row.moment_if("last_used")?,
        failure: failure.map(|kind| (kind, message.unwrap_or_default())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreDurability;
    use std::sync::Arc;
    use wf_base::time::FixedClock;

    #[test]
    fn a_connection_is_what_was_last_recorded() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(FixedClock(Moment::from_millis(5)));
        let store = Store::open(dir.path(), StoreDurability::Normal, clock).unwrap();
        let name = PlanId::parse("mail").unwrap();
        let mut one = ConnectionRow {
            name: name.clone(),
            skill: "m365".into(),
            folder: "skills/m365".into(),
            digest: Sha256Digest::of_bytes(b"x"),
            auth: AuthMethod::DeviceCode,
            state: ConnectionState::Proposed,
            account: None,
            permissions: vec!["read".into()],
            refs: vec![RefId::parse("token").unwrap()],
            created: Moment::from_millis(1),
            checked: None,
            token_expires_at: None,
            refresh_expires_at: Some(Moment::from_millis(9)),
            last_refresh: None,
            last_used: None,
            failure: None,
        };
        store.connections().record(one.clone()).wait().unwrap();
        let reader = store.reader().unwrap();
        assert_eq!(reader.connections().all().unwrap(), [one.clone()]);
        store.connections().record_use(&name, Moment::from_millis(7)).wait().unwrap();
        one.state = ConnectionState::Failing;
        one.failure = Some(("token_revoked".into(), "gone".into()));
        store.connections().record(one.clone()).wait().unwrap();
        one.last_used = Some(Moment::from_millis(7));
        assert_eq!(reader.connections().all().unwrap(), [one.clone()]);
        // An older time of use does not replace a later one.
        store.connections().record_use(&name, Moment::from_millis(6)).wait().unwrap();
        assert_eq!(reader.connections().all().unwrap(), [one]);
    }
}
