use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use clap::Args;

use super::rows::counts;
use crate::{
    Ui,
    commands::trust::attest::{self, seal_text, signing_key},
    keys::PassphraseArgs,
};
use wf_app::{
    CliExitCode, CommandError, keys,
    memory::{BUNDLE_PAYLOAD, MemoryCounts, MemoryReader, OpenedBundle, import_bundle, open_bundle},
    normalize_path, relative_path,
};
use wf_core::memory::{BadBundleLine, MemoryBundle, read_bundle, write_bundle};

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
Each line has the format of `wf memory export`; `id`, `level`, `f`, `sigma` and `k` are optional.
If a line is invalid, nothing is imported. Existing entries are not changed.

The entries of a file are claims: text from outside, as of today, that decides nothing, whatever
level, trust, weight or date the file gives them. An entry counts once you confirm it with
`wf memory trust`; all of them count as they are written if an approver signed the file with
`wf memory sign`.")]
pub struct MemoryImportArgs {
    /// File to read
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Sign a file of memory, for those who import it
#[derive(Args, Debug)]
#[command(after_help = "\
Your signature says that you vouch for every line: where your key is listed in approvers.yaml,
what the file says of its levels, trust and weights counts. Read it first.

Example:
  wf memory export memory.jsonl && wf memory sign memory.jsonl --key ada --out memory.dsse.json")]
pub struct MemorySignArgs {
    /// File to sign, one megram or note per line
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Sign with this private key: one of yours by its name, or a PEM file (PKCS #8) that is not
    /// encrypted and readable by you alone [default: your key]
    #[arg(long, value_name = "NAME|FILE")]
    key: Option<PathBuf>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The limit of one import, in bytes: it is held in memory, and is one transaction.
const LIMIT: u64 = 64 << 20;

/// Exports memory.
pub(super) fn export(ui: &Ui, args: &MemoryExportArgs) -> Result<CliExitCode, CommandError> {
    let bundle = MemoryReader::open(&ui.host)?.bundle()?;
    let text = write_bundle(&bundle, ui.host.now());
    let Some(file) = &args.file else {
        ui.print_json(&text)?;
        return Ok(CliExitCode::Ok);
    };
    let path = normalize_path(&ui.host.cwd().join(file));
    let shown = relative_path(&path, ui.host.cwd());
    let written = write(&path, &text, args.force);
    written.map_err(|error| {
        let command_error = CommandError::new(CliExitCode::Usage, format!("cannot write {shown}: {error}"));
        match error.kind() {
            std::io::ErrorKind::AlreadyExists => command_error.hint("--force replaces it"),
            _ => command_error,
        }
    })?;
    ui.print_info_line(&format!("exported {} to {shown}", counts(bundle.megrams.len(), bundle.notes.len())));
    Ok(CliExitCode::Ok)
}

/// Imports megrams and notes: all or nothing. Unsigned ones are claims.
pub(super) fn import(ui: &Ui, args: &MemoryImportArgs) -> Result<CliExitCode, CommandError> {
    let (shown, text) = text_of(ui, &args.file)?;
    let OpenedBundle { text, signers, keys } = open_bundle(ui, text)?;
    let read = read_bundle(&text, &MemoryReader::open(&ui.host)?.bundle()?)
        .map_err(|error| invalid(&shown, &error))?;
    let now = ui.host.now();
    let read = if signers.is_empty() { read.into_claims(now) } else { read.until(now) };
    let count = read.megrams.len() + read.notes.len();
    let new @ MemoryCounts { megrams, notes } = import_bundle(ui, read, keys)?;
    let before = count.saturating_sub(new.total());
    let by = if signers.is_empty() { String::new() } else { format!(", signed by {}", signers.join(", ")) };
    ui.print_line(&format!("imported {}, {before} already known{by}", counts(megrams, notes)))?;
    if new.total() > 0 && signers.is_empty() {
        ui.print_info_line(
            "they are claims of a file, and decide nothing; to confirm one: wf memory trust ID verified",
        );
    }
    Ok(CliExitCode::Ok)
}

/// Signs a bundle for imports.
pub(super) fn sign(ui: &Ui, args: &MemorySignArgs) -> Result<CliExitCode, CommandError> {
    let (shown, text) = text_of(ui, &args.file)?;
    read_bundle(&text, &MemoryBundle::default()).map_err(|error| invalid(&shown, &error))?;
    let signer = if let Some(key) = &args.key {
        signing_key(ui, key, &args.passphrase)?
    } else {
        let folder = keys::key_folder(&ui.host)?;
        let key = keys::require_signing_key(&ui.host, &folder, None)?;
        keys::open_key(ui, &folder, &key, args.passphrase.file())?
    };
    attest::write(ui, args.out.as_deref(), &(seal_text(BUNDLE_PAYLOAD, text, Some(&signer)) + "\n"))
}

/// Returns a file's name as it is shown, and its text.
fn text_of(ui: &Ui, file: &Path) -> Result<(String, String), CommandError> {
    let path = normalize_path(&ui.host.cwd().join(file));
    let shown = relative_path(&path, ui.host.cwd());
    let text = read(&path)
        .map_err(|error| CommandError::new(CliExitCode::Usage, format!("cannot read {shown}: {error}")))?;
    let text = text.ok_or_else(|| {
        CommandError::new(CliExitCode::Usage, format!("{shown} is larger than 64 MiB"))
            .hint("nothing was imported; split the file between two lines")
    });
    Ok((shown, text?))
}

fn invalid(shown: &str, bad: &BadBundleLine) -> CommandError {
    let message = format!("{shown}:{}: {}", bad.line, bad.cause);
    CommandError::new(CliExitCode::Usage, message)
        .hint("nothing was imported; docs/memory.md describes the format")
}

/// Writes a file atomically.
fn write(path: &Path, text: &str, replace: bool) -> io::Result<()> {
    let beside = path.parent().unwrap_or(Path::new("."));
    // A missing folder is reported as such, and not by the name of a file within.
    fs::metadata(beside)?;
    let mut file = tempfile::NamedTempFile::new_in(beside)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    let persisted = if replace { file.persist(path) } else { file.persist_noclobber(path) };
    persisted.map(drop).map_err(|error| error.error)
}

/// Reads a file; `None` if it is too long.
fn read(path: &Path) -> io::Result<Option<String>> {
    let mut text = String::new();
    let read = fs::File::open(path)?.take(LIMIT + 1).read_to_string(&mut text)?;
    Ok((read as u64 <= LIMIT).then_some(text))
}
