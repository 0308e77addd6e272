//! The decisions of a person about a connection: to set it up or to renew it, to grant it more, and to remove it.

use std::{collections::BTreeMap, time::Duration};

use super::{
    AdapterFailure, AdapterRunner, ConnectionAdapter, ConnectionRecord, NamedSecrets, SetupSecretSources,
    consent::{ConnectionScope, check_allowed},
    health::{note_connected, require_same_skill, require_set_up},
    ledger::{connection_rows, find_connection, open_connection_store},
    secrets_error,
    setup::{ConnectionSetupError, ConnectionSetupRequest, set_up},
};
use crate::{Caller, CliExitCode, CommandError, keys::author, watch};
use wf_base::{digest::Sha256Digest, name::PlanId, remedy::UserAction};
use wf_core::connection::{
    ConnectionState, SetupCompletion, SetupTerms,
    request::{ConnectionRequest, DiscoveryReply, ProbeReply},
};
use wf_exec::connection_secrets::ConnectionSecrets;
use wf_model::ConnectionDeclaration;
use wf_store::{ConnectionApprovalUse, ConnectionRow, feed::WorkspaceAction};

/// A requested connection.
#[derive(Clone, Debug)]
pub struct NewConnection {
    pub name: PlanId,
    pub skill: String,
    /// The permissions to request; none: those the script wants.
    pub permissions: Vec<String>,
    /// The hints about the account.
    pub hint: BTreeMap<String, String>,
    /// The time limit for the setup.
    pub timeout: Duration,
}

/// A connection before a person agrees to its terms.
pub struct ConnectionOffer<'a> {
    /// The needs of the setup, as its script says.
    pub discovery: DiscoveryReply,
    /// The permissions to request.
    pub permissions: Vec<String>,
    runner: AdapterRunner<'a>,
    hint: BTreeMap<String, String>,
    approval: Option<ConnectionApprovalUse>,
    old_row: Option<ConnectionRow>,
}

/// A working connection.
pub struct EstablishedConnection {
    pub record: ConnectionRecord,
    /// The reply of its script to a first use, if it has one for that.
    pub probe: Option<ProbeReply>,
    /// The interval of the checks, as suggested by its skill.
    pub check_every: Option<Duration>,
}

impl<'a> ConnectionOffer<'a> {
    /// Asks the script of the skill what a setup needs, and checks that it may be made.
    pub fn prepare(caller: &'a dyn Caller, new: NewConnection) -> Result<Self, CommandError> {
        let workspace = caller.host().workspace();
        let before = connection_rows(caller.host())?.into_iter().find(|row| row.name == new.name);
        refuse_other_skill(before.as_ref(), &new)?;
        let adapter = ConnectionAdapter::load_approved(caller, &workspace, &new.skill)?;
        let runner = AdapterRunner::open(caller, &workspace, &new.name, adapter, new.timeout)?;
        let request = ConnectionRequest::Discover { identity_hint: &new.hint };
        // A script that only discovers gets none of the secrets of another setup.
        let (discovery, _) = runner
            .send_request_with::<DiscoveryReply>(&request, &Vec::new())
            .map_err(|failure| failure.failure(&new.name, &new.skill))?;
        let permissions = requested_permissions(&runner, &new, &discovery)?;
        let scope = ConnectionScope::new(&new.name, &runner.adapter, &permissions);
        let approval = check_allowed(caller, &workspace, &scope)?;
        Ok(Self { discovery, permissions, runner, hint: new.hint, approval, old_row: before })
    }

    /// Sets the connection up, and records it if it works.
    pub fn connect(
        self,
        caller: &dyn Caller,
        secrets: SetupSecretSources,
    ) -> Result<EstablishedConnection, CommandError> {
        let mut row = self.proposed_row(caller);
        let Self { discovery, permissions, runner, hint, approval, old_row: before } = self;
        if before.is_none() {
            open_connection_store(caller.host())?.connections().record(row.clone()).wait()?;
        }
        let terms = SetupTerms {
            auth: discovery.auth_strategy,
            permissions: permissions.clone(),
            refs: row.refs.iter().cloned().collect(),
        };
        let (initial, incremental) = (permissions.clone(), Vec::new());
        let request = ConnectionSetupRequest { terms, initial, incremental, hint, secrets };
        let (completed, secrets) = run_setup(&runner, request)?;
        let probe =
            keep_if_working(&runner, &secrets, None).map_err(|failure| failure_of(&runner, &failure))?;
        row.permissions = permissions;
        row.checked = Some(caller.host().now());
        let key = record_setup(caller, &mut row, completed, approval)?;
        let act = WorkspaceAction::ConnectionAdded {
            connection: row.name.clone(),
            skill: row.skill.clone(),
            digest: row.digest,
            permissions: row.permissions.clone(),
            key,
        };
        watch::record_quietly(caller, act);
        Ok(EstablishedConnection {
            record: row.into(),
            probe,
            check_every: runner.adapter.spec().check_every,
        })
    }

    fn proposed_row(&self, caller: &dyn Caller) -> ConnectionRow {
        let inputs = &self.discovery.setup_requirements.secure_inputs;
        let adapter = &self.runner.adapter;
        ConnectionRow {
            name: self.runner.name.clone(),
            skill: adapter.skill.clone(),
            folder: adapter.folder.clone(),
            digest: adapter.digest,
            auth: self.discovery.auth_strategy,
            state: ConnectionState::Proposed,
            account: None,
            permissions: Vec::new(),
            refs: inputs.iter().map(|secret| secret.ref_id.clone()).collect(),
            created: self.old_row.as_ref().map_or_else(|| caller.host().now(), |row| row.created),
            checked: None,
            token_expires_at: None,
            refresh_expires_at: None,
            last_refresh: None,
            last_used: self.old_row.as_ref().and_then(|row| row.last_used),
            failure: None,
        }
    }
}

fn refuse_other_skill(old_row: Option<&ConnectionRow>, new: &NewConnection) -> Result<(), CommandError> {
    let Some(row) = old_row.filter(|row| row.skill != new.skill) else {
        return Ok(());
    };
    let message = format!("`{}` is already a connection of the skill `{}`", row.name, row.skill);
    let action = UserAction::RemoveConnection(row.name.clone());
    Err(CommandError::new(CliExitCode::Usage, message).remedy("remove it first: ", action))
}

/// The requested permissions: those the script wants, or those the user named.
fn requested_permissions(
    runner: &AdapterRunner<'_>,
    new: &NewConnection,
    discovery: &DiscoveryReply,
) -> Result<Vec<String>, CommandError> {
    if let Some(reason) = discovery.scope_violation(runner.adapter.spec()) {
        let message = format!("connection `{}`: discover: {reason}", new.name);
        return Err(CommandError::new(CliExitCode::RunFailed, message));
    }
    runner.adapter.check_permissions(&new.permissions)?;
    if new.permissions.is_empty() {
        return Ok(discovery.initial_permissions.clone());
    }
    Ok(new.permissions.clone())
}

/// A further permission of a connection, before a person agrees.
pub struct ConnectionGrant<'a> {
    /// The connection as it is.
    pub record: ConnectionRecord,
    permission: String,
    /// The permissions with the new one.
    permissions: Vec<String>,
    runner: AdapterRunner<'a>,
    approval: Option<ConnectionApprovalUse>,
    row: ConnectionRow,
}

impl<'a> ConnectionGrant<'a> {
    /// Checks that a connection may have a further permission.
    pub fn prepare(
        caller: &'a dyn Caller,
        name: &PlanId,
        permission: &str,
        timeout: Duration,
    ) -> Result<Self, CommandError> {
        let workspace = caller.host().workspace();
        let row = require_set_up(find_connection(caller.host(), name)?)?;
        let adapter = require_same_skill(caller, &workspace, &row)?;
        require_grantable(&row, adapter.spec(), permission)?;
        let mut permissions = row.permissions.clone();
        permissions.push(permission.to_owned());
        let scope = ConnectionScope::new(&row.name, &adapter, &permissions);
        let approval = check_allowed(caller, &workspace, &scope)?;
        let runner = AdapterRunner::open(caller, &workspace, &row.name, adapter, timeout)?;
        let record = ConnectionRecord::from(row.clone());
        Ok(Self { record, permission: permission.to_owned(), permissions, runner, approval, row })
    }

    /// Sets the connection up again with the permission; returns it as it is then.
    pub fn grant(
        self,
        caller: &dyn Caller,
        secrets: SetupSecretSources,
    ) -> Result<ConnectionRecord, CommandError> {
        let Self { permission, permissions, runner, approval, mut row, .. } = self;
        let request = ConnectionSetupRequest {
            terms: SetupTerms {
                auth: row.auth,
                permissions: permissions.clone(),
                refs: row.refs.iter().cloned().collect(),
            },
            initial: row.permissions.clone(),
            incremental: vec![permission.clone()],
            hint: BTreeMap::new(),
            secrets,
        };
        let (completed, secrets) = run_setup(&runner, request)?;
        let granted = completed.permissions_granted.as_ref().unwrap_or(&permissions);
        if !granted.contains(&permission) {
            let message = format!("the service did not grant `{permission}` to `{}`", row.name);
            return Err(CommandError::new(CliExitCode::RunFailed, message).hint("no changes made"));
        }
        keep_if_working(&runner, &secrets, Some(&permission))
            .map_err(|failure| failure_of(&runner, &failure))?;
        row.failure = None;
        row.permissions = permissions;
        let key = record_setup(caller, &mut row, completed, approval)?;
        let act = WorkspaceAction::ConnectionGranted {
            connection: row.name.clone(),
            permissions: row.permissions.clone(),
            key,
        };
        watch::record_quietly(caller, act);
        Ok(row.into())
    }
}

fn require_grantable(
    row: &ConnectionRow,
    spec: &ConnectionDeclaration,
    permission: &str,
) -> Result<(), CommandError> {
    let is = |name: &String| name == permission;
    if row.permissions.iter().any(is) {
        let message = format!("`{}` already has `{permission}`", row.name);
        return Err(CommandError::new(CliExitCode::Usage, message));
    }
    if spec.available.iter().chain(&spec.initial).any(is) {
        return Ok(());
    }
    let message = format!("the skill `{}` has no permission `{permission}`", row.skill);
    let hint = format!("available permissions: {}", spec.available.join(", "));
    Err(CommandError::new(CliExitCode::Usage, message).hint(hint))
}

/// Removes a connection and its secrets. The service is not notified.
pub fn remove_connection(caller: &dyn Caller, name: &PlanId) -> Result<(), CommandError> {
    let host = caller.host();
    let mut row = find_connection(host, name)?;
    let secrets = ConnectionSecrets::take(&host.workspace().state, name);
    let secrets = secrets.map_err(|error| secrets_error(&error, name))?;
    // The secrets first: a connection without them is worthless, but secrets without a connection are not.
    secrets.forget_all().map_err(|error| secrets_error(&error, name))?;
    row.state = ConnectionState::Removed;
    row.account = None;
    row.failure = None;
    open_connection_store(host)?.connections().record(row).wait()?;
    let key = author(host).map(|key| key.public.id());
    watch::record_quietly(caller, WorkspaceAction::ConnectionRemoved { connection: name.clone(), key });
    Ok(())
}

/// Runs the conversation of a setup.
fn run_setup(
    runner: &AdapterRunner<'_>,
    request: ConnectionSetupRequest,
) -> Result<(SetupCompletion, NamedSecrets), CommandError> {
    set_up(runner, request).map_err(|error| match error {
        ConnectionSetupError::Script(failure) => failure_of(runner, &failure),
        ConnectionSetupError::Person(error) => error,
    })
}

fn failure_of(runner: &AdapterRunner<'_>, failure: &AdapterFailure) -> CommandError {
    failure.failure(&runner.name, &runner.adapter.skill)
}

/// Keeps the secrets of a setup if the connection works with them, and else the earlier ones.
fn keep_if_working(
    runner: &AdapterRunner<'_>,
    secrets: &NamedSecrets,
    capability: Option<&str>,
) -> Result<Option<ProbeReply>, AdapterFailure> {
    let refs = |error| AdapterFailure::storage_failure("probe", error);
    let mut all = runner.secrets().map_err(refs)?;
    all.retain(|(name, _)| secrets.iter().all(|(other, _)| other != name));
    all.extend(secrets.iter().cloned());
    let mut probed = None;
    if runner.adapter.script("probe").is_some() {
        let request = ConnectionRequest::Probe { connection_id: runner.name.as_str(), capability };
        let (reply, written) = runner.send_request_with::<ProbeReply>(&request, &all)?;
        all.retain(|(name, _)| written.iter().all(|(other, _)| other != name));
        all.extend(written);
        probed = Some(reply);
    }
    runner.store_secrets(&all).map_err(refs)?;
    Ok(probed)
}

/// Records a connection as its setup left it; returns the key of the author.
fn record_setup(
    caller: &dyn Caller,
    row: &mut ConnectionRow,
    completed: SetupCompletion,
    approval: Option<ConnectionApprovalUse>,
) -> Result<Option<Sha256Digest>, CommandError> {
    row.state = ConnectionState::Active;
    row.account = completed.account.or(row.account.take());
    if let Some(granted) = completed.permissions_granted {
        row.permissions = granted;
    }
    row.token_expires_at = completed.token_expires_at;
    row.refresh_expires_at = completed.refresh_token_expires_at;
    let store = open_connection_store(caller.host())?;
    store.connections().record_by(row.clone(), approval).wait()?;
    note_connected(&store, row)?;
    Ok(author(caller.host()).map(|key| key.public.id()))
}
