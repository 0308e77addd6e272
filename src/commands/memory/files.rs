use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;

use super::rows::{counts, notes, rows, store};
use crate::Ui;
use wf_app::{CliExitCode, CommandError, normalize_path, relative_path, watch};
use wf_core::memory::{MemoryBundle, read_bundle, write_bundle};
use wf_store::MegramSelection;
use wf_store::feed::WorkspaceAction;

/// Export memory, one megram or note per line
#[derive(Args, Debug)]
pub struct MemoryExportArgs {
    /// File to write [default: standard output]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "file")]
    force: bool,
}

/// Import memory from a file, one megram or note per line
#[derive(Args, Debug)]
#[command(after_help = "\
Each line has the format of `wf memory export`; `id`, `level`, `f`, `sigma` and `k` are optional. If a
line is invalid, nothing is imported. Existing entries are not changed.")]
pub struct MemoryImportArgs {
    /// File to read
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// The limit of one import, in bytes: it is held in memory, and is one transaction.
const LIMIT: u64 = 64 << 20;

/// Exports memory.
pub(super) fn export(ui: &Ui, args: &MemoryExportArgs) -> Result<CliExitCode, CommandError> {
    let bundle = everything(ui)?;
    let text = write_bundle(&bundle, ui.host.now());
    let Some(file) = &args.file else {
        ui.print_json(&text)?;
        return Ok(CliExitCode::Ok);
    };
    let path = normalize_path(&ui.host.cwd().join(file));
    let shown = relative_path(&path, ui.host.cwd());
    let written = write(&path, &text, args.force);
    written.map_err(|error| {
        let failure = CommandError::new(CliExitCode::Usage, format!("cannot write {shown}: {error}"));
        match error.kind() {
            std::io::ErrorKind::AlreadyExists => failure.hint("--force replaces it"),
            _ => failure,
        }
    })?;
    ui.print_info_line(&format!("exported {} to {shown}", counts(bundle.megrams.len(), bundle.notes.len())));
    Ok(CliExitCode::Ok)
}

/// Imports megrams: all or nothing.
pub(super) fn import(ui: &Ui, args: &MemoryImportArgs) -> Result<CliExitCode, CommandError> {
    let path = normalize_path(&ui.host.cwd().join(&args.file));
    let shown = relative_path(&path, ui.host.cwd());
    let text = read(&path)
        .map_err(|error| CommandError::new(CliExitCode::Usage, format!("cannot read {shown}: {error}")))?;
    let Some(text) = text else {
        let failure = CommandError::new(CliExitCode::Usage, format!("{shown} is larger than 64 MiB"));
        return Err(failure.hint("nothing was imported; split the file between two lines"));
    };
    let read = read_bundle(&text, &everything(ui)?).map_err(|bad| {
        let message = format!("{shown}:{}: {}", bad.line, bad.cause);
        let hint = "nothing was imported; docs/memory.md describes the format";
        CommandError::new(CliExitCode::Usage, message).hint(hint)
    })?;
    let count = read.megrams.len() + read.notes.len();
    let (mut megrams, mut notes) = (0, 0);
    if count > 0 {
        (megrams, notes) = store(&ui.host)?.import(read).wait()?;
    }
    let new = megrams + notes;
    if new > 0 {
        let action = WorkspaceAction::MemoryImported { megrams: megrams as u64, notes: notes as u64 };
        watch::record_quietly(ui, action);
    }
    let before = count.saturating_sub(new);
    ui.print_line(&format!("imported {}, {before} already known", counts(megrams, notes)))?;
    Ok(CliExitCode::Ok)
}

fn everything(ui: &Ui) -> Result<MemoryBundle, CommandError> {
    let megrams = rows(&ui.host, &MegramSelection::All)?;
    Ok(MemoryBundle { megrams, notes: notes(&ui.host)? })
}

/// Writes a file atomically.
fn write(path: &Path, text: &str, replace: bool) -> io::Result<()> {
    let beside = path.parent().unwrap_or(Path::new("."));
    // A missing folder is reported as such, and not by the name of a file within.
    fs::metadata(beside)?;
    let mut file = tempfile::NamedTempFile::new_in(beside)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    let kept = if replace { file.persist(path) } else { file.persist_noclobber(path) };
    kept.map(drop).map_err(|error| error.error)
}

/// Reads a file; `None` if it is too long.
fn read(path: &Path) -> io::Result<Option<String>> {
    let mut text = String::new();
    let read = fs::File::open(path)?.take(LIMIT + 1).read_to_string(&mut text)?;
    Ok((read as u64 <= LIMIT).then_some(text))
}
