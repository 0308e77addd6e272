use std::path::PathBuf;

use clap::Args;

use super::backup::content;
use crate::audit;
use crate::cli::{Exit, Failure, Ui, normal, relative};

#[derive(Args, Debug)]
#[command(after_help = "\
The backup is unpacked beside the state and checked; then the two are exchanged at once, so that
whatever happens there is a whole one. A state that has runs, or remembers something, is replaced
only with --force, and one that a process works on never. Runs that had not ended can be resumed.")]
pub struct RestoreArgs {
    /// A file that `wf backup` wrote
    file: PathBuf,
    /// Replace a state that has runs, or remembers something
    #[arg(long)]
    force: bool,
}

/// Restores a backup.
pub fn run(ui: &Ui, args: &RestoreArgs) -> Result<Exit, Failure> {
    let file = normal(&ui.env.cwd().join(&args.file));
    let state = ui.workspace().state;
    let made = audit::restore(&file, &state, args.force, ui.env.now())?;
    let shown = relative(&state, ui.env.cwd());
    ui.note_line(&format!(
        "{shown} is as it was at {}: {}",
        made.created,
        content(&made)
    ));
    Ok(Exit::Ok)
}
