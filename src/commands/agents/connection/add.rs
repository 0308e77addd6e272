use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;

use super::args::{duration, name};
use crate::Ui;
use crate::commands::goals::goal::author;
use crate::connections::SecretArgs;
use wf_app::approve::confirmed;
use wf_app::connections::consent::{ConnectionScope, check_allowed};
use wf_app::connections::health::note_connected;
use wf_app::connections::{AdapterFailure, write_health_goal};
use wf_app::connections::{
    AdapterRunner, ConnectionAdapter, ConnectionSetupError, ConnectionSetupRequest, NamedSecrets,
    connection_rows, open_connection_store, set_up,
};
use wf_app::{CliExitCode, CommandError, Host, watch};
use wf_base::name::PlanId;
use wf_base::untrusted::untrusted;
use wf_base::untrusted::{BOLD, GOOD, paint};
use wf_core::connection::request::{ConnectionRequest, DiscoveryReply, ProbeReply};
use wf_core::connection::{SetupCompletion, SetupTerms};
use wf_store::feed::WorkspaceAction;
use wf_store::{ConnectionApprovalUse, ConnectionRow, ConnectionState};

/// Set up a connection, or renew one
#[derive(Args, Debug)]
#[command(after_help = "\
Shows the requested permissions first. Secrets are read from the terminal, from files or from a
browser, and stored in the keyring or in files that only you can read.

Examples:
  wf connection add mail --skill m365-mail
  wf connection add notes --skill notion --secrets-in-browser
  wf connection add notes --skill notion --secret-file token=/dev/fd/3 --yes")]
pub struct ConnectionAddArgs {
    /// Name of the connection
    #[arg(value_name = "NAME", value_parser = name)]
    name: PlanId,
    /// Skill that maintains it
    #[arg(long, value_name = "SKILL")]
    skill: String,
    /// Request this permission, and no others but those named this way
    #[arg(long = "permission", value_name = "PERMISSION")]
    permissions: Vec<String>,
    /// Hint about the account, for example email=ada@example.org
    #[arg(long = "hint", value_name = "KEY=VALUE", value_parser = pair)]
    hints: Vec<(String, String)>,
    /// Also write a goal that checks it on a schedule
    #[arg(long)]
    goal: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Time limit for the setup
    #[arg(long, value_name = "DURATION", default_value = "20m", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    secrets: SecretArgs,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Sets up a connection.
pub(super) fn run(ui: &Ui, args: &ConnectionAddArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let before = connection_rows(&ui.host)?.into_iter().find(|row| row.name == args.name);
    other_skill(before.as_ref(), args)?;
    let adapter = ConnectionAdapter::load_approved(ui, &workspace, &args.skill)?;
    let desk = AdapterRunner::open(ui, &workspace, &args.name, adapter, args.timeout)?;
    let hint: BTreeMap<String, String> = args.hints.iter().cloned().collect();
    let told = |trouble: AdapterFailure| trouble.failure(args.name.as_str(), &args.skill);
    let request = ConnectionRequest::Discover { identity_hint: &hint };
    // A script that only discovers gets none of the secrets of another setup.
    let (found, _) = desk.send_request_with::<DiscoveryReply>(&request, &Vec::new()).map_err(told)?;
    let wanted = requested_permissions(&desk, args, &found)?;
    let by = check_allowed(ui, &workspace, &ConnectionScope::new(&args.name, &desk.adapter, &wanted))?;
    ui.print_message(&agreed_terms(args, &found, &wanted));
    if !confirmed(ui, args.yes, "Connect?")? {
        return Err(CommandError::new(CliExitCode::Interrupted, "aborted, nothing was connected"));
    }
    let mut row = proposed(&ui.host, &desk, &found, before.as_ref());
    if before.is_none() {
        open_connection_store(&ui.host)?.connect(row.clone()).wait()?;
    }
    let wish = ConnectionSetupRequest {
        terms: SetupTerms {
            auth: found.auth_strategy,
            permissions: wanted.clone(),
            refs: row.refs.iter().cloned().collect(),
        },
        initial: wanted.clone(),
        incremental: Vec::new(),
        hint,
        secrets: args.secrets.sources(),
    };
    let (completed, secrets) = set_up(&desk, wish).map_err(|failed| match failed {
        ConnectionSetupError::Script(trouble) => told(*trouble),
        ConnectionSetupError::Person(failure) => failure,
    })?;
    let probed = keep_if_working(&desk, &secrets, None).map_err(told)?;
    record(ui, &mut row, completed, wanted, by)?;
    ui.print(&print_result(&row, probed.as_ref()))?;
    if args.goal {
        let every = desk.adapter.spec().check_every;
        match write_health_goal(&workspace, &args.name, every)? {
            Some(path) => ui
                .print_info_line(&format!("wrote {path}; `wf daemon` runs it after `wf goal accept {path}`")),
            None => ui.print_info_line(&format!("goals/connection-{}.md already exists", args.name)),
        }
    }
    Ok(CliExitCode::Ok)
}

fn other_skill(before: Option<&ConnectionRow>, args: &ConnectionAddArgs) -> Result<(), CommandError> {
    let Some(row) = before.filter(|row| row.skill != args.skill) else {
        return Ok(());
    };
    let message = format!("`{}` is already a connection of the skill `{}`", row.name, row.skill);
    let hint = format!("remove it first: wf connection remove {}", row.name);
    Err(CommandError::new(CliExitCode::Usage, message).hint(hint))
}

/// The requested permissions: those that the script wants, or those that the user named.
fn requested_permissions(
    desk: &AdapterRunner<'_>,
    args: &ConnectionAddArgs,
    found: &DiscoveryReply,
) -> Result<Vec<String>, CommandError> {
    let spec = desk.adapter.spec();
    if let Some(reason) = found.scope_violation(spec) {
        let message = format!("connection `{}`: discover: {reason}", args.name);
        return Err(CommandError::new(CliExitCode::RunFailed, message));
    }
    desk.adapter.check_permissions(&args.permissions)?;
    if args.permissions.is_empty() {
        return Ok(found.initial_permissions.clone());
    }
    Ok(args.permissions.clone())
}

/// The terms that the user agrees to.
fn agreed_terms(args: &ConnectionAddArgs, found: &DiscoveryReply, wanted: &[String]) -> String {
    let provider = untrusted(&found.provider);
    let mut text = format!(
        "connect {} to {provider}\n  by           {}\n  permissions  {}\n",
        paint(BOLD, args.name.as_str()),
        found.auth_strategy.as_str(),
        if wanted.is_empty() { "none".to_owned() } else { wanted.join(", ") }
    );
    let needs = &found.setup_requirements;
    for one in &needs.secure_inputs {
        let label = one.label.replace('\n', " ");
        text += &format!("  secret       {label} ({})\n", one.ref_id);
    }
    if needs.browser {
        text += "  needs        a browser\n";
    }
    if needs.app_registration {
        text += "  needs        an app registered with the service\n";
    }
    if found.identity_match == Some(false) {
        text += "  warning      the service does not know the account given as hint\n";
    }
    text
}

fn proposed(
    host: &Host,
    desk: &AdapterRunner<'_>,
    found: &DiscoveryReply,
    before: Option<&ConnectionRow>,
) -> ConnectionRow {
    let inputs = &found.setup_requirements.secure_inputs;
    ConnectionRow {
        name: desk.name.clone(),
        skill: desk.adapter.skill.clone(),
        folder: desk.adapter.folder.clone(),
        digest: desk.adapter.digest,
        auth: found.auth_strategy,
        state: ConnectionState::Proposed,
        account: None,
        permissions: Vec::new(),
        refs: inputs.iter().map(|one| one.ref_id.clone()).collect(),
        created: before.map_or_else(|| host.now(), |row| row.created),
        checked: None,
        token_expires_at: None,
        refresh_expires_at: None,
        last_refresh: None,
        last_used: before.and_then(|row| row.last_used),
        failure: None,
    }
}

/// Keeps the secrets of a setup if the connection works with them, and else the earlier ones.
pub(super) fn keep_if_working(
    desk: &AdapterRunner<'_>,
    secrets: &NamedSecrets,
    capability: Option<&str>,
) -> Result<Option<ProbeReply>, AdapterFailure> {
    let refs = |fault| AdapterFailure::storage_failure("probe", fault);
    let mut all = desk.secrets().map_err(refs)?;
    all.retain(|(name, _)| secrets.iter().all(|(other, _)| other != name));
    all.extend(secrets.iter().cloned());
    let mut probed = None;
    if desk.adapter.script("probe").is_some() {
        let request = ConnectionRequest::Probe { connection_id: desk.name.as_str(), capability };
        let (found, written) = desk.send_request_with::<ProbeReply>(&request, &all)?;
        all.retain(|(name, _)| written.iter().all(|(other, _)| other != name));
        all.extend(written);
        probed = Some(found);
    }
    desk.store_secrets(&all).map_err(refs)?;
    Ok(probed)
}

fn record(
    ui: &Ui,
    row: &mut ConnectionRow,
    completed: SetupCompletion,
    wanted: Vec<String>,
    by: Option<ConnectionApprovalUse>,
) -> Result<(), CommandError> {
    row.state = ConnectionState::Active;
    row.account = completed.account;
    row.permissions = completed.permissions_granted.unwrap_or(wanted);
    row.token_expires_at = completed.token_expires_at;
    row.refresh_expires_at = completed.refresh_token_expires_at;
    row.checked = Some(ui.host.now());
    let store = open_connection_store(&ui.host)?;
    store.connect_by(row.clone(), by).wait()?;
    note_connected(&store, row)?;
    let act = WorkspaceAction::ConnectionAdded {
        connection: row.name.clone(),
        skill: row.skill.clone(),
        digest: row.digest,
        permissions: row.permissions.clone(),
        key: author(&ui.host).map(|key| key.public.id()),
    };
    watch::record_quietly(ui, act);
    Ok(())
}

fn print_result(row: &ConnectionRow, probed: Option<&ProbeReply>) -> String {
    let mut text = format!("{} {}", paint(GOOD, "connected:"), row.name);
    if let Some(account) = &row.account {
        text += &format!(" · {}", account.replace('\n', " "));
    }
    if let Some(probed) = probed {
        text += &format!(" · {}", probed.line());
    }
    text + "\n"
}
