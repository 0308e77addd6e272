use std::time::Duration;

use clap::Args;

use crate::{Ui, connections::SecretArgs};
use wf_app::{CliExitCode, CommandError, approve::confirmed, connections::ConnectionGrant};
use wf_base::{name::PlanId, time::parse_duration};

/// Grant a connection another permission
#[derive(Args, Debug)]
pub struct ConnectionGrantArgs {
    /// Name of the connection
    #[arg(value_name = "NAME")]
    name: PlanId,
    /// Permission to add
    #[arg(value_name = "PERMISSION")]
    permission: String,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Time limit for the setup
    #[arg(long, value_name = "DURATION", default_value = "20m", value_parser = parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    secrets: SecretArgs,
}

/// Sets up a connection again, with a further permission.
pub(super) fn run(ui: &Ui, args: &ConnectionGrantArgs) -> Result<CliExitCode, CommandError> {
    let grant = ConnectionGrant::prepare(ui, &args.name, &args.permission, args.timeout)?;
    let record = &grant.record;
    ui.print_message(&format!(
        "{} has {}; requested: {}\n",
        record.name,
        record.permissions.join(", "),
        args.permission
    ));
    if !confirmed(ui, args.yes, "Grant?")? {
        return Err(CommandError::new(CliExitCode::Interrupted, "aborted, nothing was granted"));
    }
    let granted = grant.grant(ui, args.secrets.sources())?;
    ui.print_line(&format!("{} now has {}", granted.name, granted.permissions.join(", ")))?;
    Ok(CliExitCode::Ok)
}
