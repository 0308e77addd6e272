use std::path::PathBuf;

use clap::Args;

use super::backup::content;
use crate::Ui;
use wf_app::{CliExitCode, CommandError, normalize_path, relative_path, restore::restore_backup};

#[derive(Args, Debug)]
#[command(after_help = "\
The backup is unpacked beside the state and checked; then the two are swapped atomically, so
one of them is always intact. A state with runs or memory entries is replaced only with --force,
and a state in use by a process never: stop the daemon first. Runs that had not finished can be
resumed. Goals that were accepted, in the backup or since, stay accepted.")]
pub struct RestoreArgs {
    /// File written by `wf backup`
    file: PathBuf,
    /// Replace a state that has runs or memory
    #[arg(long)]
    force: bool,
}

/// Restores a backup.
pub fn run(ui: &Ui, args: &RestoreArgs) -> Result<CliExitCode, CommandError> {
    let file = normalize_path(&ui.host.cwd().join(&args.file));
    let state = ui.host.workspace().state;
    let restored = restore_backup(ui, &file, args.force)?;
    let shown = relative_path(&state, ui.host.cwd());
    ui.print_info_line(&format!("restored {shown} to {}: {}", restored.created, content(restored)));
    Ok(CliExitCode::Ok)
}
