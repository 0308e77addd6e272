//! Whether a connection works, and what is done if it does not (Silas 5.10.3 and 5.10.4).

use super::trouble::{Trouble, What};
use super::{Desk, ledger};
use crate::bus::Act;
use crate::cli::watch;
use crate::cli::{Failure, Ui};
use crate::connection::request::{Health, Recovered, Refreshed, Request};
use crate::connection::{Expiry, FailureKind, RefreshPlan, Why, plan};
use crate::store::{ConnectionRow, ConnectionState};

/// What a look at a connection found.
#[derive(Debug)]
pub struct Looked {
    /// What is recorded of it now.
    pub row: ConnectionRow,
    /// What is wrong, if it does not work.
    pub trouble: Option<Trouble>,
    /// What was found, if a script could say.
    pub health: Option<Health>,
    /// What to do about tokens that end.
    pub plan: RefreshPlan,
}

/// Looks at a connection: makes it work again if it does not, once; replaces its token if that is
/// due. What came of it is recorded.
pub fn look(ui: &Ui, desk: &Desk<'_>, row: ConnectionRow) -> Result<Looked, Failure> {
    let mut look = Look { ui, desk, row };
    let mut found = look.health();
    if let Some(error) = unwell(&found)
        && look.is_token(&error)
        && look.refresh("unhealthy")
    {
        found = look.health();
    }
    let mut said = None;
    if let Some(error) = unwell(&found) {
        match look.recover(&error) {
            Ok(true) => found = look.health(),
            Ok(false) => {}
            Err(trouble) => said = Some(trouble).filter(|trouble| trouble.said().is_some()),
        }
    }
    let trouble = said.or_else(|| found.as_ref().err().cloned()).or_else(|| {
        let error = unwell(&found)?;
        Some(Trouble::new("health_check", What::Unwell(error)))
    });
    let mut refreshed = RefreshPlan::default();
    if trouble.is_none() {
        refreshed = look.planned();
        if let Some(why) = refreshed.now
            && look.refresh(word(why))
        {
            refreshed = RefreshPlan {
                now: None,
                ..look.planned()
            };
        }
    }
    look.conclude(trouble.as_ref());
    ledger(ui)?.connect(look.row.clone()).wait()?;
    if let Some(trouble) = &trouble {
        let failure = trouble.record().0;
        let connection = look.row.name.clone();
        watch::note(
            ui,
            Act::ConnectionFailed {
                connection,
                failure,
            },
        );
    }
    Ok(Looked {
        row: look.row,
        trouble,
        health: found.ok(),
        plan: refreshed,
    })
}

struct Look<'a, 'b> {
    ui: &'a Ui,
    desk: &'a Desk<'b>,
    row: ConnectionRow,
}

/// What is wrong, in words; `None`: it works.
fn unwell(found: &Result<Health, Trouble>) -> Option<String> {
    match found {
        Ok(health) if health.healthy => None,
        Ok(health) => Some(
            health
                .error
                .clone()
                .unwrap_or_else(|| "it says that it does not work, and not why".into()),
        ),
        Err(trouble) => Some(trouble.text()),
    }
}

fn word(why: Why) -> &'static str {
    match why {
        Why::TokenEnds => "token_ends",
        Why::Dormant => "dormant",
    }
}

impl Look<'_, '_> {
    fn health(&mut self) -> Result<Health, Trouble> {
        let connection_id = self.row.name.as_str().to_owned();
        let connection_id = connection_id.as_str();
        let health: Health = self.desk.ask(&Request::HealthCheck { connection_id })?;
        self.row.checked = Some(self.ui.env.now());
        // A look that does not say when tokens end has not found that they never do.
        self.row.token_expires_at = health.token_expires_at.or(self.row.token_expires_at);
        self.row.refresh_expires_at = health
            .refresh_token_expires_at
            .or(self.row.refresh_expires_at);
        Ok(health)
    }

    fn planned(&self) -> RefreshPlan {
        let row = &self.row;
        let expiry = Expiry {
            token: row.token_expires_at,
            refresh: row.refresh_expires_at,
            used: row.last_used.unwrap_or(row.created),
        };
        plan(expiry, self.ui.env.now())
    }

    /// Whether what is wrong is that its token has ended.
    fn is_token(&self, error: &str) -> bool {
        let end = self.row.token_expires_at;
        error.to_lowercase().contains("expired") || end.is_some_and(|end| end <= self.ui.env.now())
    }

    /// Has the skill make it work again, once; whether it says that it did.
    fn recover(&self, error: &str) -> Result<bool, Trouble> {
        let connection_id = self.row.name.as_str();
        let request = Request::Recover {
            connection_id,
            error,
        };
        Ok(self.desk.ask::<Recovered>(&request)?.success)
    }

    /// Replaces its token; whether that was done.
    fn refresh(&mut self, why: &str) -> bool {
        let connection_id = self.row.name.as_str();
        let request = Request::RefreshToken { connection_id };
        let done = self.desk.ask::<Refreshed>(&request);
        let Ok(Refreshed {
            success: true,
            new_expires_at,
            refresh_token_expires_at,
        }) = done
        else {
            return false;
        };
        let row = &mut self.row;
        row.token_expires_at = new_expires_at;
        row.refresh_expires_at = refresh_token_expires_at.or(row.refresh_expires_at);
        row.last_refresh = Some(self.ui.env.now());
        let (connection, why) = (row.name.clone(), why.to_owned());
        watch::note(self.ui, Act::ConnectionRefreshed { connection, why });
        true
    }

    fn conclude(&mut self, trouble: Option<&Trouble>) {
        let now = self.ui.env.now();
        self.row.checked = Some(now);
        let Some(trouble) = trouble else {
            self.row.state = ConnectionState::Active;
            self.row.failure = None;
            return;
        };
        let kind = trouble.said().map(|said| said.failure_type);
        let is_over = self.row.refresh_expires_at.is_some_and(|end| end <= now);
        self.row.state = match kind {
            Some(FailureKind::TokenRevoked) => ConnectionState::Revoked,
            _ if is_over => ConnectionState::Expired,
            _ => ConnectionState::Failing,
        };
        self.row.failure = Some(trouble.record());
    }
}
