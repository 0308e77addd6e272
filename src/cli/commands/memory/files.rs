use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

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

/// Exports.
pub(super) fn export(ui: &Ui, args: &ExportArgs) -> Result<Exit, Failure> {
    let megrams = rows(ui, &Which::All)?;
    let text = write_lines(&megrams);
    let Some(file) = &args.file else {
        ui.print_bytes(text.as_bytes())?;
        return Ok(Exit::Ok);
    };
    let path = normal(&ui.env.cwd().join(file));
    let shown = relative(&path, ui.env.cwd());
    let mut options = fs::OpenOptions::new();
    options.write(true).truncate(true);
    if args.force {
        options.create(true);
    } else {
        options.create_new(true);
    }
    let opened = options.open(&path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let failure = Failure::new(Exit::Usage, format!("cannot write {shown}: {error}"));
        match error.kind() {
            std::io::ErrorKind::AlreadyExists => failure.hint("--force replaces it"),
            _ => failure,
        }
    })?;
    ui.note(&format!(
        "{} kept in {shown}\n",
        plural(megrams.len(), "megram")
    ));
    Ok(Exit::Ok)
}

/// Imports: all or nothing.
pub(super) fn import(ui: &Ui, args: &ImportArgs) -> Result<Exit, Failure> {
    let path = normal(&ui.env.cwd().join(&args.file));
    let shown = relative(&path, ui.env.cwd());
    let text = fs::read_to_string(&path)
        .map_err(|error| Failure::new(Exit::Usage, format!("cannot read {shown}: {error}")))?;
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
    ui.print(&format!(
        "remembered {}, {before} known before\n",
        plural(new, "megram")
    ))?;
    Ok(Exit::Ok)
}
