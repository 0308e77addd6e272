use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;

use super::rows::{rows, store};
use crate::bus::Act;
use crate::cli::{Exit, Failure, Ui, normal, relative, watch};
use crate::memory::{read_lines, write_lines};
use crate::report::plural;
use crate::store::Which;

/// Write what is remembered, one megram a line
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The file to write; by default, standard output
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long, requires = "file")]
    force: bool,
}

/// Remember what a file says, one megram a line
#[derive(Args, Debug)]
#[command(after_help = "\
A line is what `wf memory export` writes; `id`, `level`, `f`, `sigma` and `k` may be left out. If a
line is wrong nothing is remembered. What is known already stays as it is.")]
pub struct ImportArgs {
    /// The file to read
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// The most that is imported at once, in bytes: it is held in memory, and is one transaction.
const LIMIT: u64 = 64 << 20;

/// Exports.
pub(super) fn export(ui: &Ui, args: &ExportArgs) -> Result<Exit, Failure> {
    let megrams = rows(ui, &Which::All)?;
    let text = write_lines(&megrams);
    let Some(file) = &args.file else {
        ui.print_json(&text)?;
        return Ok(Exit::Ok);
    };
    let path = normal(&ui.env.cwd().join(file));
    let shown = relative(&path, ui.env.cwd());
    let written = write(&path, &text, args.force);
    written.map_err(|error| {
        let failure = Failure::new(Exit::Usage, format!("cannot write {shown}: {error}"));
        match error.kind() {
            std::io::ErrorKind::AlreadyExists => failure.hint("--force replaces it"),
            _ => failure,
        }
    })?;
    ui.note_line(&format!(
        "{} kept in {shown}",
        plural(megrams.len(), "megram")
    ));
    Ok(Exit::Ok)
}

/// Imports: all or nothing.
pub(super) fn import(ui: &Ui, args: &ImportArgs) -> Result<Exit, Failure> {
    let path = normal(&ui.env.cwd().join(&args.file));
    let shown = relative(&path, ui.env.cwd());
    let text = read(&path)
        .map_err(|error| Failure::new(Exit::Usage, format!("cannot read {shown}: {error}")))?;
    let Some(text) = text else {
        let failure = Failure::new(Exit::Usage, format!("{shown} has more than 64 MiB"));
        return Err(failure.hint("nothing was remembered; cut it between two lines"));
    };
    let known = rows(ui, &Which::All)?;
    let read = read_lines(&text, &known).map_err(|bad| {
        let message = format!("{shown}:{}: {}", bad.line, bad.cause);
        let hint = "nothing was remembered; docs/memory.md says what a line may be";
        Failure::new(Exit::Usage, message).hint(hint)
    })?;
    let count = read.len();
    let new = if read.is_empty() {
        0
    } else {
        store(ui)?.remember(read).wait()?
    };
    if new > 0 {
        let megrams = new as u64;
        watch::note(ui, Act::MemoryImported { megrams });
    }
    let before = count.saturating_sub(new);
    ui.print_line(&format!(
        "remembered {}, {before} known before",
        plural(new, "megram")
    ))?;
    Ok(Exit::Ok)
}

/// Writes a file, whole or not at all.
fn write(path: &Path, text: &str, replace: bool) -> io::Result<()> {
    let beside = path.parent().unwrap_or(Path::new("."));
    // A folder that is not there is told as that, and not by the name of a file within.
    fs::metadata(beside)?;
    let mut file = tempfile::NamedTempFile::new_in(beside)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    let kept = if replace {
        file.persist(path)
    } else {
        file.persist_noclobber(path)
    };
    kept.map(drop).map_err(|error| error.error)
}

/// Reads a file; `None` if it is too long.
fn read(path: &Path) -> io::Result<Option<String>> {
    let mut text = String::new();
    let read = fs::File::open(path)?
        .take(LIMIT + 1)
        .read_to_string(&mut text)?;
    Ok((read as u64 <= LIMIT).then_some(text))
}
