use std::path::PathBuf;

use clap::Args;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    backup::{BackupContent, back_up},
    normalize_path, relative_path,
};
use wf_base::units::plural;

#[derive(Args, Debug)]
#[command(after_help = "\
The file is a tar archive with a snapshot of the database, the stored files, the logs, and the
acceptances of goals. The state is checked first, as by `wf doctor`: a damaged or altered state never
overwrites an intact backup. Not in it are the files of the workspace, with `approvers.yaml` and the
approvals beside plans, which belong in git, and your keys: see `wf key --help`.")]
pub struct BackupArgs {
    /// File to write the backup to
    file: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

/// Creates a backup.
pub fn run(ui: &Ui, args: &BackupArgs) -> Result<CliExitCode, CommandError> {
    let file = normalize_path(&ui.host.cwd().join(&args.file));
    let state = ui.host.workspace().state;
    let backup = back_up(ui, &file, args.force)?;
    let (shown, file) = (relative_path(&state, ui.host.cwd()), relative_path(&file, ui.host.cwd()));
    ui.print_info_line(&format!("backed up {shown} to {file}: {}", content(backup)));
    if !backup.is_verified {
        ui.print_message(&format!(
            "note: {shown} was written by another version of wf: it was copied as it is, and not verified; restore it with that version\n"
        ));
    }
    Ok(CliExitCode::Ok)
}

/// The content of a backup, in a few words.
pub fn content(content: BackupContent) -> String {
    let count = |count: u64, noun| plural(usize::try_from(count).unwrap_or(usize::MAX), noun);
    format!("{}, {}", count(content.events, "event"), count(content.files, "file"))
}
