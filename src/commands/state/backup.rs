use std::path::{Path, PathBuf};

use clap::Args;

use crate::Ui;
use wf_app::logs::damaged_logs_of_newest;
use wf_app::{CliExitCode, CommandError, normalize_path, relative_path, watch};
use wf_base::units::plural;
use wf_base::untrusted::{WARN, paint};
use wf_store::feed::{LogAnchor, WorkspaceAction};
use wf_store::{self as store, BackupManifest, StoreReader};

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
    keep_intact_logs(ui, &state, &file)?;
    let made = store::backup(&state, &file, args.force, ui.host.now())?;
    let end = LogAnchor { seq: made.events, hash: made.head };
    watch::record_quietly(ui, WorkspaceAction::BackedUp { end });
    let (shown, file) = (relative_path(&state, ui.host.cwd()), relative_path(&file, ui.host.cwd()));
    ui.print_info_line(&format!("backed up {shown} to {file}: {}", content(&made)));
    if !made.verified {
        ui.print_message(&format!(
            "note: {shown} was written by another version of wf: it was copied as it is, and not verified; restore it with that version\n"
        ));
    }
    Ok(CliExitCode::Ok)
}

/// Refuses to replace a backup while logs are damaged: it may have them whole. Another file may have the state as it is.
fn keep_intact_logs(ui: &Ui, state: &Path, file: &Path) -> Result<(), CommandError> {
    // A state that cannot be opened is copied unverified.
    let Ok(reader) = StoreReader::open(state) else { return Ok(()) };
    let damaged = damaged_logs_of_newest(&reader, usize::MAX)?;
    let Some(first) = damaged.first() else { return Ok(()) };
    let more = match damaged.len() {
        1 => String::new(),
        count => format!(", and {} more", plural(count - 1, "log")),
    };
    if !file.exists() {
        ui.print_message(&format!(
            "{} {first}{more}: the backup has them as they are\n",
            paint(WARN, "warning:")
        ));
        return Ok(());
    }
    let shown = relative_path(file, ui.host.cwd());
    let message = format!("{first}{more}; {shown} may have what is missing, and is not replaced");
    Err(CommandError::new(CliExitCode::State, message)
        .hint("`wf doctor --full` names all; back up to another file, or restore this one"))
}

/// The content of a backup, in a few words.
pub fn content(manifest: &BackupManifest) -> String {
    let count = |count: u64, noun| plural(usize::try_from(count).unwrap_or(usize::MAX), noun);
    format!("{}, {}", count(manifest.events, "event"), count(manifest.files, "file"))
}
