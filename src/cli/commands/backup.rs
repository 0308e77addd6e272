use std::path::PathBuf;

use clap::Args;

use crate::bus::{Act, Bound};
use crate::cli::{Exit, Failure, Ui, normal, relative, watch};
use crate::report::plural;
use crate::store::{self, Manifest};

#[derive(Args, Debug)]
#[command(after_help = "\
The file is a tar archive: the database as of one instant, the kept files, and the logs. It is
checked first, as `wf doctor` does; a state that is damaged or was tampered with is not copied over a
backup that is whole.")]
pub struct BackupArgs {
    /// The file to write
    file: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

/// Makes a backup.
pub fn run(ui: &Ui, args: &BackupArgs) -> Result<Exit, Failure> {
    let file = normal(&ui.env.cwd().join(&args.file));
    let state = ui.workspace().state;
    let made = store::backup(&state, &file, args.force, ui.env.now())?;
    let end = Bound {
        seq: made.events,
        hash: made.head,
    };
    watch::note(ui, Act::BackedUp { end });
    let (shown, file) = (
        relative(&state, ui.env.cwd()),
        relative(&file, ui.env.cwd()),
    );
    ui.note_line(&format!("{shown} is kept in {file}: {}", content(&made)));
    Ok(Exit::Ok)
}

/// What is in a backup, in a few words.
pub fn content(manifest: &Manifest) -> String {
    let count = |count: u64, noun| plural(usize::try_from(count).unwrap_or(usize::MAX), noun);
    format!(
        "{}, {}",
        count(manifest.events, "event"),
        count(manifest.files, "file")
    )
}
