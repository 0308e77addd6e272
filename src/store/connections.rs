//! What is known of connections. No secret is here: see [`crate::exec::refs`].

use rusqlite::Row;
use serde::{Deserialize, Serialize};

use super::column::{At, Json, Word};
use super::{Reader, Store, StoreError, Ticket};
use crate::digest::Digest;
use crate::model::Auth;
use crate::name::{PlanId, RefId};
use crate::time::Moment;

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionState {
    /// Somebody wants it, and it was not set up.
    Proposed,
    /// It worked when it was last looked at.
    Active,
    /// It did not.
    Failing,
    /// What gets its tokens has ended: only a person can connect it again.
    Expired,
    /// The service took back what it granted.
    Revoked,
    /// Somebody removed it.
    Removed,
}

impl ConnectionState {
    /// As the database and people write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Active => "active",
            Self::Failing => "failing",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Removed => "removed",
        }
    }
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionRow {
    /// Its name.
    pub name: PlanId,
    /// The skill that looks after it.
    pub skill: String,
    /// The skill's folder, relative to the workspace.
    pub folder: String,
    /// The digest of the skill's files when it was set up.
    pub digest: Digest,
    /// How somebody proved who they are.
    pub auth: Auth,
    /// Where it is in its life.
    pub state: ConnectionState,
    /// Whose account it is, as a person calls it.
    pub account: Option<String>,
    /// What the service granted.
    pub permissions: Vec<String>,
    /// The secrets that its setup may ask for.
    pub refs: Vec<RefId>,
    /// When it was first set up.
    pub created: Moment,
    /// When its health was last looked at.
    pub checked: Option<Moment>,
    /// When its token ends.
    pub token_expires_at: Option<Moment>,
    /// When what gets tokens ends.
    pub refresh_expires_at: Option<Moment>,
    /// When its token was last replaced.
    pub last_refresh: Option<Moment>,
    /// When a step last used it.
    pub last_used: Option<Moment>,
    /// What was wrong when it was last looked at: the kind, and in words.
    pub failure: Option<(String, String)>,
}

/// One use of an approval by a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The nonce of the approval.
    pub nonce: String,
    /// Which use of it, from 1.
    pub execution: u32,
    /// What was signed.
    pub token: Digest,
}

impl Store {
    /// Records a connection, in the place of what was known of it. When it was last used is kept if
    /// that was later.
    pub fn connect(&self, row: ConnectionRow) -> Ticket<()> {
        self.connect_by(row, None)
    }

    /// Records a connection together with the use of the approval that allowed it: both or neither,
    /// and no use twice.
    pub fn connect_by(&self, row: ConnectionRow, by: Option<Use>) -> Ticket<()> {
        self.sql(move |writing| {
            if let Some(by) = &by {
                let sql =
                    "INSERT INTO consumed (nonce, execution, token, run) VALUES (?1, ?2, ?3, ?4)";
                let what = format!("connection:{}", row.name);
                let token = by.token.to_string();
                writing
                    .connection
                    .execute(sql, (&by.nonce, by.execution, token, what))?;
            }
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
            writing.connection.execute(
                sql,
                rusqlite::params![
                    row.name.as_str(),
                    row.skill,
                    row.folder,
                    row.digest.to_string(),
                    row.auth.as_str(),
                    row.state.as_str(),
                    row.account,
                    Json(&row.permissions),
                    Json(&row.refs),
                    At(row.created),
                    row.checked.map(At),
                    row.token_expires_at.map(At),
                    row.refresh_expires_at.map(At),
                    row.last_refresh.map(At),
                    row.last_used.map(At),
                    failure,
                    message,
                ],
            )?;
            Ok(())
        })
    }

    /// Notes that a step used a connection.
    pub fn connection_used(&self, name: &PlanId, now: Moment) -> Ticket<()> {
        let name = name.clone();
        self.sql(move |writing| {
            let sql = "UPDATE connections SET last_used = max(coalesce(last_used, ?2), ?2)
                       WHERE name = ?1";
            writing.connection.execute(sql, (name.as_str(), At(now)))?;
            Ok(())
        })
    }
}

impl Reader {
    /// All connections that were ever recorded, by name; those that were removed, too.
    pub fn connections(&self) -> Result<Vec<ConnectionRow>, StoreError> {
        self.rows("SELECT * FROM connections ORDER BY name", [], row)
    }

    /// A connection by its name, if one was ever recorded.
    pub fn connection_named(&self, name: &PlanId) -> Result<Option<ConnectionRow>, StoreError> {
        let sql = "SELECT * FROM connections WHERE name = ?1";
        Ok(self.rows(sql, [name.as_str()], row)?.into_iter().next())
    }
}

fn row(row: &Row<'_>) -> rusqlite::Result<ConnectionRow> {
    let at = |name: &str| -> rusqlite::Result<Option<Moment>> {
        Ok(row.get::<_, Option<At>>(name)?.map(|at| at.0))
    };
    let failure: Option<String> = row.get("failure")?;
    let message: Option<String> = row.get("message")?;
    Ok(ConnectionRow {
        name: row.get::<_, Word<_>>("name")?.0,
        skill: row.get("skill")?,
        folder: row.get("folder")?,
        digest: row.get::<_, Word<_>>("digest")?.0,
        auth: row.get::<_, Word<_>>("auth")?.0,
        state: row.get::<_, Word<_>>("state")?.0,
        account: row.get("account")?,
        permissions: row.get::<_, Json<_>>("permissions")?.0,
        refs: row.get::<_, Json<_>>("refs")?.0,
        created: row.get::<_, At>("created")?.0,
        checked: at("checked")?,
        token_expires_at: at("token_expires_at")?,
        refresh_expires_at: at("refresh_expires_at")?,
        last_refresh: at("last_refresh")?,
        last_used: at("last_used")?,
        failure: failure.map(|kind| (kind, message.unwrap_or_default())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Durability;
    use crate::time::FixedClock;
    use std::sync::Arc;

    #[test]
    fn a_connection_is_what_was_last_recorded() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(FixedClock(Moment::from_millis(5)));
        let store = Store::open(dir.path(), Durability::Normal, clock).unwrap();
        let name = PlanId::parse("mail").unwrap();
        let mut one = ConnectionRow {
            name: name.clone(),
            skill: "m365".into(),
            folder: "skills/m365".into(),
            digest: Digest::of(b"x"),
            auth: Auth::DeviceCode,
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
        store.connect(one.clone()).wait().unwrap();
        let reader = store.reader().unwrap();
        assert_eq!(reader.connection_named(&name).unwrap(), Some(one.clone()));
        store
            .connection_used(&name, Moment::from_millis(7))
            .wait()
            .unwrap();
        one.state = ConnectionState::Failing;
        one.failure = Some(("token_revoked".into(), "gone".into()));
        store.connect(one.clone()).wait().unwrap();
        one.last_used = Some(Moment::from_millis(7));
        assert_eq!(reader.connections().unwrap(), [one.clone()]);
        // What is older does not make it older.
        store
            .connection_used(&name, Moment::from_millis(6))
            .wait()
            .unwrap();
        assert_eq!(reader.connections().unwrap(), [one]);
        let other = PlanId::parse("other").unwrap();
        assert_eq!(reader.connection_named(&other).unwrap(), None);
    }
}
