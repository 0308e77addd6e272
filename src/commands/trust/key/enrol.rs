use clap::Args;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    keys::{KeyEnrolment, enrol_key},
};
use wf_sign::ApproverKey;

/// Add a public key to the approvers, such as that of a browser
#[derive(Args, Debug)]
#[command(after_help = "\
Adds the key to approvers.yaml, which is created where there is none, for you alone to approve
(`policy: owner`). Commit the file, so that its signatures count for everyone.

Example:
  wf key enrol phone 3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")]
pub struct KeyEnrolArgs {
    /// Name of the approver
    #[arg(value_name = "NAME")]
    name: String,
    /// Public key: 64 hexadecimal digits, or the passkey that a browser shows
    #[arg(value_name = "KEY")]
    key: String,
    /// Skip the confirmation
    #[arg(long)]
    yes: bool,
}

/// Adds a key to the approvers.
pub fn run(ui: &Ui, args: &KeyEnrolArgs) -> Result<CliExitCode, CommandError> {
    let key = ApproverKey::parse(&args.key)
        .map_err(|error| CommandError::new(CliExitCode::Usage, error.to_string()))?;
    match enrol_key(ui, &args.name, &key, args.yes)? {
        KeyEnrolment::Before(file) => ui.print_line(&format!("already in {file}: {}", key.text()))?,
        KeyEnrolment::Now(file) => {
            ui.print_line(&format!("added to {file}: {} {}", args.name, key.text()))?;
        }
    }
    Ok(CliExitCode::Ok)
}
