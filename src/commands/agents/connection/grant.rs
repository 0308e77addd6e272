use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;

use super::add::keep_if_working;
use super::args::{duration, name};
use super::check::{require_same_skill, require_set_up as was_set_up};
use crate::Ui;
use crate::commands::goals::goal::author;
use crate::connections::SecretArgs;
use wf_app::approve::confirmed;
use wf_app::connections::AdapterFailure;
use wf_app::connections::consent::{ConnectionScope, check_allowed};
use wf_app::connections::health::note_connected;
use wf_app::connections::{
    AdapterRunner, ConnectionSetupError, ConnectionSetupRequest, find_connection, open_connection_store,
    set_up,
};
use wf_app::{CliExitCode, CommandError, watch};
use wf_base::name::PlanId;
use wf_core::connection::{SetupCompletion, SetupTerms};
use wf_model::ConnectionDeclaration;
use wf_store::feed::WorkspaceAction;
use wf_store::{ConnectionRow, ConnectionState};

/// Grant a connection another permission
#[derive(Args, Debug)]
pub struct ConnectionGrantArgs {
    /// Name of the connection
    #[arg(value_name = "NAME", value_parser = name)]
    name: PlanId,
    /// Permission to add
    #[arg(value_name = "PERMISSION")]
    permission: String,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Time limit for the setup
    #[arg(long, value_name = "DURATION", default_value = "20m", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    secrets: SecretArgs,
}

/// Sets up a connection again, with a further permission.
pub(super) fn run(ui: &Ui, args: &ConnectionGrantArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let mut row = was_set_up(find_connection(&ui.host, &args.name)?)?;
    let adapter = require_same_skill(ui, &workspace, &row)?;
    grantable(&row, adapter.spec(), &args.permission)?;
    let mut wanted = row.permissions.clone();
    wanted.push(args.permission.clone());
    let by = check_allowed(ui, &workspace, &ConnectionScope::new(&row.name, &adapter, &wanted))?;
    let desk = AdapterRunner::open(ui, &workspace, &row.name, adapter, args.timeout)?;
    ui.print_message(&format!(
        "{} has {}; requested: {}
",
        row.name,
        row.permissions.join(", "),
        args.permission
    ));
    if !confirmed(ui, args.yes, "Grant?")? {
        return Err(CommandError::new(CliExitCode::Interrupted, "aborted, nothing was granted"));
    }
    let wish = ConnectionSetupRequest {
        terms: SetupTerms {
            auth: row.auth,
            permissions: wanted.clone(),
            refs: row.refs.iter().cloned().collect(),
        },
        initial: row.permissions.clone(),
        incremental: vec![args.permission.clone()],
        hint: BTreeMap::new(),
        secrets: args.secrets.sources(),
    };
    let told = |trouble: AdapterFailure| trouble.failure(row.name.as_str(), &row.skill);
    let (completed, secrets) = set_up(&desk, wish).map_err(|failed| match failed {
        ConnectionSetupError::Script(trouble) => told(*trouble),
        ConnectionSetupError::Person(failure) => failure,
    })?;
    let granted = granted_permissions(&completed, &wanted, args)?;
    keep_if_working(&desk, &secrets, Some(&args.permission)).map_err(told)?;
    row.state = ConnectionState::Active;
    row.failure = None;
    row.permissions = granted;
    row.account = completed.account.or(row.account);
    row.token_expires_at = completed.token_expires_at;
    row.refresh_expires_at = completed.refresh_token_expires_at;
    let store = open_connection_store(&ui.host)?;
    store.connect_by(row.clone(), by).wait()?;
    note_connected(&store, &row)?;
    let act = WorkspaceAction::ConnectionGranted {
        connection: row.name.clone(),
        permissions: row.permissions.clone(),
        key: author(&ui.host).map(|key| key.public.id()),
    };
    watch::record_quietly(ui, act);
    ui.print_line(&format!("{} now has {}", row.name, row.permissions.join(", ")))?;
    Ok(CliExitCode::Ok)
}

fn grantable(
    row: &ConnectionRow,
    spec: &ConnectionDeclaration,
    permission: &str,
) -> Result<(), CommandError> {
    let is = |one: &String| one == permission;
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

/// Returns the permissions that the service granted, if they include the requested one.
fn granted_permissions(
    completed: &SetupCompletion,
    wanted: &[String],
    args: &ConnectionGrantArgs,
) -> Result<Vec<String>, CommandError> {
    let granted = completed.permissions_granted.clone();
    let granted = granted.unwrap_or_else(|| wanted.to_vec());
    if granted.contains(&args.permission) {
        return Ok(granted);
    }
    let message = format!("the service did not grant `{}` to `{}`", args.permission, args.name);
    Err(CommandError::new(CliExitCode::RunFailed, message).hint("no changes made"))
}
