use std::fs;

use clap::Args;

use super::mark::{self, write_approvers};
use crate::Ui;
use wf_app::approve::confirm;
use wf_app::{APPROVERS, CliExitCode, CommandError, load, relative_path, watch};
use wf_base::source::SourceText;
use wf_sign::ApproverKey;
use wf_store::feed::WorkspaceAction;

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
    let usage = |message: String| CommandError::new(CliExitCode::Usage, message);
    let key = ApproverKey::parse(&args.key).map_err(|bad| usage(bad.to_string()))?;
    let workspace = ui.host.workspace();
    let path = workspace.root.join(APPROVERS);
    let shown = relative_path(&path, ui.host.cwd());
    let listed = load::approvers(ui, &workspace)?;
    let known = listed.iter().flat_map(|(file, _)| &file.approvers);
    if known.filter_map(|one| one.key.as_ref()).any(|known| known.value.0 == key) {
        ui.print_line(&format!("already in {shown}: {}", key.text()))?;
        return Ok(CliExitCode::Ok);
    }
    let mut known = listed.iter().flat_map(|(file, _)| &file.approvers);
    if known.any(|known| known.name.as_ref().is_some_and(|name| name.value == args.name)) {
        let failure = usage(format!("{shown} has another approver named `{}`", args.name));
        return Err(failure.hint("choose another name: names are unique, also those of revoked keys"));
    }
    let source =
        listed.map_or_else(|| SourceText::new(shown.as_str(), "policy: owner\n"), |(_, source)| source);
    let text = mark::with_approver(&source, &args.name, &key).ok_or_else(|| {
        let line = format!("- {{name: {}, key: {}}}", args.name, key.text());
        usage(format!("the key cannot be added to {shown}"))
            .hint(format!("add it by hand, below `approvers`: {line}"))
    })?;
    ui.print_info(&format!(
        "the holder of the private key of {} can then approve in this workspace\n",
        key.text()
    ));
    confirm(ui, args.yes, &format!("Add `{}` to {shown}?", args.name))?;
    let permissions = fs::metadata(&path).ok().map(|found| found.permissions());
    write_approvers(&path, &text, permissions)
        .map_err(|error| CommandError::new(CliExitCode::State, format!("cannot write {shown}: {error}")))?;
    let (id, name) = (key.id(), args.name.clone());
    watch::record_quietly(ui, WorkspaceAction::KeyEnrolled { key: id, name });
    ui.print_line(&format!("added to {shown}: {} {}", args.name, key.text()))?;
    Ok(CliExitCode::Ok)
}
