use clap::Args;

use super::args::name;
use crate::Ui;
use crate::commands::goals::goal::author;
use wf_app::approve::confirmed;
use wf_app::connections::{find_connection, open_connection_store, secrets_error};
use wf_app::{CliExitCode, CommandError, watch};
use wf_base::name::PlanId;
use wf_exec::connection_secrets::ConnectionSecrets;
use wf_store::ConnectionState;
use wf_store::feed::WorkspaceAction;

/// Remove a connection and its secrets immediately
#[derive(Args, Debug)]
pub struct ConnectionRemoveArgs {
    /// Name of the connection
    #[arg(value_name = "NAME", value_parser = name)]
    name: PlanId,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// Removes a connection. The service is not notified: its permissions must be revoked there.
pub(super) fn run(ui: &Ui, args: &ConnectionRemoveArgs) -> Result<CliExitCode, CommandError> {
    let mut row = find_connection(&ui.host, &args.name)?;
    let question = format!("Remove {} and its secrets?", args.name);
    if !confirmed(ui, args.yes, &question)? {
        return Err(CommandError::new(CliExitCode::Interrupted, "aborted, nothing was removed"));
    }
    let state = ui.host.workspace().state;
    let refs =
        ConnectionSecrets::take(&state, &args.name).map_err(|fault| secrets_error(&fault, &args.name))?;
    // The secrets first: a connection without them is worthless, but secrets without a connection are not.
    refs.forget_all().map_err(|fault| secrets_error(&fault, &args.name))?;
    row.state = ConnectionState::Removed;
    row.account = None;
    row.failure = None;
    open_connection_store(&ui.host)?.connect(row).wait()?;
    let act = WorkspaceAction::ConnectionRemoved {
        connection: args.name.clone(),
        key: author(&ui.host).map(|key| key.public.id()),
    };
    watch::record_quietly(ui, act);
    ui.print_line(&format!("removed {}", args.name))?;
    ui.print_info("the service still lists the granted access: revoke it there, too\n");
    Ok(CliExitCode::Ok)
}
