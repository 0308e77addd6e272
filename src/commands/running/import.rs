use std::{
    fs,
    io::{self, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};

use crate::Ui;
use wf_app::{CliExitCode, CommandError, normalize_path, open_regular, relative_path};
use wf_base::untrusted::{DIM, GOOD, NAME, paint, shell_word};
use wf_lang::{SylkFile, import_sylk};

#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct ImportArgs {
    #[command(subcommand)]
    command: ImportCommand,
}

#[derive(Subcommand, Debug)]
enum ImportCommand {
    Sylk(ImportSylkArgs),
}

/// Convert a graph of Sylk to a dag and its plans
#[derive(Args, Debug)]
#[command(after_help = "\
Each node becomes a plan with one agent, and a dag uses them. Parts without an equivalent are
reported, and kept in the text of the dag. If the graph has a mistake, nothing is written.")]
pub struct ImportSylkArgs {
    /// JSON file with the graph
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Folder to create
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

/// The limit of a graph, in bytes.
const LIMIT: u64 = 4 << 20;

/// Runs the given subcommand.
pub fn run(ui: &Ui, args: &ImportArgs) -> Result<CliExitCode, CommandError> {
    let ImportCommand::Sylk(args) = &args.command;
    sylk(ui, args)
}

fn sylk(ui: &Ui, args: &ImportSylkArgs) -> Result<CliExitCode, CommandError> {
    let failure = |message: String| CommandError::new(CliExitCode::Usage, message);
    let shown = |path: &Path| relative_path(path, ui.host.cwd());
    let file = normalize_path(&ui.host.cwd().join(&args.file));
    let out = normalize_path(&ui.host.cwd().join(&args.dir));
    let text = read(&file).map_err(|error| failure(format!("cannot read {}: {error}", shown(&file))))?;
    let import = import_sylk(&text).map_err(|mistake| {
        let message = format!("cannot import {}: {mistake}", shown(&file));
        CommandError::new(CliExitCode::Invalid, message).hint(mistake.help)
    })?;
    write(&out, &import.files).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            failure(format!("{} exists already", shown(&out))).hint("name another folder")
        }
        _ => failure(format!("cannot write {}: {error}", shown(&out))),
    })?;
    for file in &import.files {
        ui.print(&format!("{} {}\n", paint(GOOD, "created"), shown(&out.join(&file.path))))?;
    }
    for note in &import.notes {
        ui.print(&format!("{} {}\n", paint(DIM, "   note"), wf_base::untrusted::untrusted(note)))?;
    }
    let roles = import.roles.join(", ");
    let check = format!("wf check {}", shell_word(&shown(&out.join("dag.md"))));
    ui.print(&format!(
        "\nnext\n  give models to these roles in wf.yaml: {roles}\n  {}\n",
        paint(NAME, &check)
    ))?;
    Ok(CliExitCode::Ok)
}

/// Reads a text, up to its maximum length.
fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let count = open_regular(path)?.take(LIMIT + 1).read_to_string(&mut text)?;
    if count as u64 > LIMIT { Err(io::Error::other("it has more than 4 MiB")) } else { Ok(text) }
}

/// Writes all files or none: the folder gets its name once everything is in it.
fn write(out: &Path, files: &[SylkFile]) -> io::Result<()> {
    if out.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let beside = out.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(beside)?;
    let folder = tempfile::TempDir::new_in(beside)?;
    for file in files {
        let path = folder.path().join(&file.path);
        fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
        let mut new = fs::File::create_new(path)?;
        new.write_all(file.text.as_bytes())?;
        new.sync_all()?;
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
    fs::rename(folder.path(), out)?;
    // The folder is where it belongs: nothing is left to remove.
    let _ = folder.keep();
    Ok(())
}
