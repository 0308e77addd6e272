//! The health of a connection, and its recovery (Silas 5.10.3 and 5.10.4).

use std::time::Duration;

use super::{
    AdapterFailure, AdapterFailureKind, AdapterRunner, ConnectionAdapter, ConnectionRecord,
    ledger::{connection_rows, find_connection, open_connection_store},
};
use crate::{Caller, CliExitCode, CommandError, Host, Workspace, watch};
use wf_base::{name::PlanId, remedy::UserAction};
use wf_core::{
    connection::{
        ConnectionState, FailureKind, RefreshPlan, RefreshReason, TokenExpiry, plan,
        request::{ConnectionRequest, HealthCheckReply, RecoverReply, RefreshReply},
    },
    health::{BreakerNote, CallEnd, CallTarget},
};
use wf_store::{ConnectionRow, Store, feed::WorkspaceAction};

/// The result of a health check of a connection.
#[derive(Debug)]
pub struct ConnectionCheckResult {
    /// The connection as it is recorded now.
    pub record: ConnectionRecord,
    /// The trouble, if it does not work.
    pub failure: Option<AdapterFailure>,
    /// The health, if a script could report it.
    pub health: Option<HealthCheckReply>,
    /// The plan for expiring tokens.
    pub plan: RefreshPlan,
    /// The change of its breaker.
    pub breaker: Option<BreakerNote>,
}

/// Checks connections, one after the other, all that are set up if none is named; reports each result once it is there.
pub fn check_connections(
    caller: &dyn Caller,
    names: &[PlanId],
    timeout: Duration,
    report: &dyn Fn(&ConnectionCheckResult) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let (host, workspace) = (caller.host(), caller.host().workspace());
    let mut rows = Vec::new();
    if names.is_empty() {
        rows = connection_rows(host)?;
        rows.retain(|row| row.state != ConnectionState::Proposed);
    }
    for name in names {
        rows.push(require_set_up(find_connection(host, name)?)?);
    }
    for row in rows {
        let adapter = require_same_skill(caller, &workspace, &row)?;
        let runner = AdapterRunner::open(caller, &workspace, &row.name, adapter, timeout)?;
        report(&check_connection(caller, &runner, row)?)?;
    }
    Ok(())
}

/// Refuses a connection before its setup.
pub(super) fn require_set_up(row: ConnectionRow) -> Result<ConnectionRow, CommandError> {
    if row.state != ConnectionState::Proposed {
        return Ok(row);
    }
    let (name, skill) = (&row.name, &row.skill);
    let error = CommandError::new(CliExitCode::Usage, format!("`{name}` has not been set up"));
    let action = UserAction::AddConnection { name: name.clone(), skill: Some(skill.clone()) };
    Err(error.remedy("set it up: ", action))
}

/// Returns the skill of a connection, if it is the one that it was set up with.
pub(super) fn require_same_skill(
    caller: &dyn Caller,
    workspace: &Workspace,
    row: &ConnectionRow,
) -> Result<ConnectionAdapter, CommandError> {
    let adapter = ConnectionAdapter::load_approved(caller, workspace, &row.skill)?;
    if adapter.digest == row.digest {
        return Ok(adapter);
    }
    let (name, skill) = (&row.name, &row.skill);
    let message = format!("the skill `{skill}` has changed since it set up `{name}`");
    let error = CommandError::new(CliExitCode::Approval, message);
    let action = UserAction::AddConnection { name: name.clone(), skill: Some(skill.clone()) };
    Err(error.remedy("review the changes, then reconnect: ", action))
}

/// Checks a connection: recovers it if it does not work, once; refreshes its token if that is due.
/// The result is recorded. A step of a run does not call a service with an open breaker; a person may.
fn check_connection(
    caller: &dyn Caller,
    runner: &AdapterRunner<'_>,
    row: ConnectionRow,
) -> Result<ConnectionCheckResult, CommandError> {
    let store = open_connection_store(caller.host())?;
    let (ledger, target) = (store.call_ledger(), CallTarget::connection(&row.name));
    if is_in_run(caller.host())
        && let Err(open) = ledger.admit(target.clone()).wait()?
    {
        let failure = AdapterFailure::new("health_check", AdapterFailureKind::LeftAlone(open));
        let plan = RefreshPlan::default();
        let record = row.into();
        return Ok(ConnectionCheckResult {
            record,
            failure: Some(failure),
            health: None,
            plan,
            breaker: None,
        });
    }
    let mut checker = ConnectionChecker { caller, runner, row };
    let mut health = checker.check_health();
    if let Some(problem) = problem_of(&health)
        && checker.is_token_problem(&problem)
        && checker.refresh("unhealthy")
    {
        health = checker.check_health();
    }
    let mut recovery_failure = None;
    if let Some(problem) = problem_of(&health) {
        match checker.recover(&problem) {
            Ok(true) => health = checker.check_health(),
            Ok(false) => {}
            Err(error) => recovery_failure = Some(error).filter(|error| error.service_failure().is_some()),
        }
    }
    let adapter_failure = recovery_failure.or_else(|| health.as_ref().err().cloned()).or_else(|| {
        let problem = problem_of(&health)?;
        Some(AdapterFailure::new("health_check", AdapterFailureKind::ReportedFailure(problem)))
    });
    let mut refresh_plan = RefreshPlan::default();
    if adapter_failure.is_none() {
        refresh_plan = checker.refresh_plan();
        if let Some(reason) = refresh_plan.reason
            && checker.refresh(reason_word(reason))
        {
            refresh_plan = RefreshPlan { reason: None, ..checker.refresh_plan() };
        }
    }
    checker.conclude(adapter_failure.as_ref());
    store.connections().record(checker.row.clone()).wait()?;
    let end = adapter_failure.as_ref().map_or(Some(CallEnd::Success), AdapterFailure::call_end);
    let change = end.map(|end| ledger.note(target.clone(), end).wait()).transpose()?.flatten();
    let breaker = change.map(|change| BreakerNote { target, change });
    if let Some(failure) = &adapter_failure {
        record_failure(caller, &checker.row, failure);
    }
    Ok(ConnectionCheckResult {
        record: checker.row.into(),
        failure: adapter_failure,
        health: health.ok(),
        plan: refresh_plan,
        breaker,
    })
}

fn record_failure(caller: &dyn Caller, row: &ConnectionRow, adapter_failure: &AdapterFailure) {
    let (connection, failure) = (row.name.clone(), adapter_failure.record().0);
    watch::record_quietly(caller, WorkspaceAction::ConnectionFailed { connection, failure });
}

/// Notes that a person connected a service: it works, whatever its last calls said.
pub(super) fn note_connected(store: &Store, row: &ConnectionRow) -> Result<(), CommandError> {
    store.call_ledger().note(CallTarget::connection(&row.name), CallEnd::Success).wait()?;
    Ok(())
}

/// True if a step of a run asks, as the goal of a connection does.
fn is_in_run(host: &Host) -> bool {
    host.var("WF_RUN").is_some()
}

/// A check of one connection in progress; what it learns goes into its row.
struct ConnectionChecker<'a, 'b> {
    caller: &'a dyn Caller,
    runner: &'a AdapterRunner<'b>,
    row: ConnectionRow,
}

/// Returns the problem, in words; `None`: it works.
fn problem_of(reply: &Result<HealthCheckReply, AdapterFailure>) -> Option<String> {
    match reply {
        Ok(health) if health.healthy => None,
        Ok(health) => Some(
            health.error.clone().unwrap_or_else(|| "the script reports a failure without a reason".into()),
        ),
        Err(failure) => Some(failure.describe()),
    }
}

fn reason_word(reason: RefreshReason) -> &'static str {
    match reason {
        RefreshReason::TokenEnds => "token_ends",
        RefreshReason::Dormant => "dormant",
    }
}

impl ConnectionChecker<'_, '_> {
    fn check_health(&mut self) -> Result<HealthCheckReply, AdapterFailure> {
        let connection_id = self.row.name.as_str().to_owned();
        let connection_id = connection_id.as_str();
        let health: HealthCheckReply =
            self.runner.send_request(&ConnectionRequest::HealthCheck { connection_id })?;
        self.row.checked = Some(self.caller.host().now());
        // A health check without an expiry time does not show that tokens never expire.
        self.row.token_expires_at = health.token_expires_at.or(self.row.token_expires_at);
        self.row.refresh_expires_at = health.refresh_token_expires_at.or(self.row.refresh_expires_at);
        Ok(health)
    }

    fn refresh_plan(&self) -> RefreshPlan {
        let row = &self.row;
        let expiry = TokenExpiry {
            token: row.token_expires_at,
            refresh: row.refresh_expires_at,
            used: row.last_used.unwrap_or(row.created),
        };
        plan(expiry, self.caller.host().now())
    }

    /// True if the cause is an expired token.
    fn is_token_problem(&self, error: &str) -> bool {
        let end = self.row.token_expires_at;
        error.to_lowercase().contains("expired") || end.is_some_and(|end| end <= self.caller.host().now())
    }

    /// Has the skill recover it, once; true if the skill reports success.
    fn recover(&self, error: &str) -> Result<bool, AdapterFailure> {
        let connection_id = self.row.name.as_str();
        let request = ConnectionRequest::Recover { connection_id, error };
        Ok(self.runner.send_request::<RecoverReply>(&request)?.success)
    }

    /// Refreshes its token; true if that succeeded.
    fn refresh(&mut self, reason: &str) -> bool {
        let connection_id = self.row.name.as_str();
        let request = ConnectionRequest::RefreshToken { connection_id };
        let reply = self.runner.send_request::<RefreshReply>(&request);
        let Ok(RefreshReply { success: true, new_expires_at, refresh_token_expires_at }) = reply else {
            return false;
        };
        let row = &mut self.row;
        row.token_expires_at = new_expires_at;
        row.refresh_expires_at = refresh_token_expires_at.or(row.refresh_expires_at);
        row.last_refresh = Some(self.caller.host().now());
        let (connection, reason) = (row.name.clone(), reason.to_owned());
        watch::record_quietly(self.caller, WorkspaceAction::ConnectionRefreshed { connection, reason });
        true
    }

    /// Sets the state of the connection by the failure; `None`: it works.
    fn conclude(&mut self, adapter_failure: Option<&AdapterFailure>) {
        let now = self.caller.host().now();
        self.row.checked = Some(now);
        let Some(adapter_failure) = adapter_failure else {
            self.row.state = ConnectionState::Active;
            self.row.failure = None;
            return;
        };
        let kind = adapter_failure.service_failure().map(|failure| failure.failure_type);
        let refresh_is_over = self.row.refresh_expires_at.is_some_and(|end| end <= now);
        self.row.state = match kind {
            Some(FailureKind::TokenRevoked) => ConnectionState::Revoked,
            _ if refresh_is_over => ConnectionState::Expired,
            _ => ConnectionState::Failing,
        };
        self.row.failure = Some(adapter_failure.record());
    }
}
