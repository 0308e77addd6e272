use clap::Args;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    approve::confirmed,
    connections::{read_connection, remove_connection},
};
use wf_base::name::PlanId;

/// Remove a connection and its secrets immediately
#[derive(Args, Debug)]
pub struct ConnectionRemoveArgs {
    /// Name of the connection
    #[arg(value_name = "NAME")]
    name: PlanId,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// Removes a connection. The service is not notified: its permissions must be revoked there.
pub(super) fn run(ui: &Ui, args: &ConnectionRemoveArgs) -> Result<CliExitCode, CommandError> {
    read_connection(&ui.host, &args.name)?;
    let question = format!("Remove {} and its secrets?", args.name);
    if !confirmed(ui, args.yes, &question)? {
        return Err(CommandError::new(CliExitCode::Interrupted, "aborted, nothing was removed"));
    }
    remove_connection(ui, &args.name)?;
    ui.print_line(&format!("removed {}", args.name))?;
    ui.print_info("the service still lists the granted access: revoke it there, too\n");
    Ok(CliExitCode::Ok)
}
