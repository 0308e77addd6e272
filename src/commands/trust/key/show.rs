use std::{
    fmt::Write as _,
    fs::OpenOptions,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::{Value, json};

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError, Host,
    config::ApproversFile,
    keys::{self, OwnKey},
    load, normalize_path, relative_path,
};
use wf_base::units::plural;
use wf_exec::keyfile::KeyFolder;

/// List your keys, and their status as approvers here
#[derive(Args, Debug)]
pub struct KeyListArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Export a public key
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf key export                      the public key in openssl's format
  wf key export ada --hex            as listed in approvers.yaml
  wf key export ada --private --out ada.pem   a copy of the private key, readable only by you")]
pub struct KeyExportArgs {
    /// Name of the key [default: the one that signs]
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Write PEM (the default)
    #[arg(long, conflicts_with = "hex")]
    pem: bool,
    /// Write 64 hexadecimal digits
    #[arg(long)]
    hex: bool,
    /// Write the private key, to a file that does not exist yet
    #[arg(long, requires = "out", conflicts_with = "hex")]
    private: bool,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Lists keys.
pub fn list(ui: &Ui, args: &KeyListArgs) -> Result<CliExitCode, CommandError> {
    let folder = keys::key_folder(&ui.host)?;
    let own = keys::own_keys(&folder)?;
    let listed = load::approvers(ui, &ui.host.workspace())?.map(|(file, _)| file);
    if args.json {
        let key_json = |key: &OwnKey| {
            json!({
                "name": key.name,
                "key": key.public.hex(),
                "kept": storage_word(&folder, key),
                "part": listed.as_ref().and_then(|file| part(file, key)),
            })
        };
        let keys: Vec<Value> = own.iter().map(key_json).collect();
        let document = json!({"v": 1, "folder": folder.dir(), "keys": keys});
        ui.print_json(&format!("{document:#}\n"))?;
        return Ok(CliExitCode::Ok);
    }
    let width = own.iter().map(|key| key.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for key in &own {
        let (name, hex) = (&key.name, key.public.hex());
        let _ = write!(text, "{name:<width$}  {hex}  {}", storage_word(&folder, key));
        if let Some(part) = listed.as_ref().and_then(|file| part(file, key)) {
            let _ = write!(text, " · {part}");
        }
        text.push('\n');
    }
    ui.print(&text)?;
    ui.print_info_line(&format!("{} in {}", plural(own.len(), "key"), folder.dir().display()));
    Ok(CliExitCode::Ok)
}

fn storage_word(folder: &KeyFolder, key: &OwnKey) -> String {
    match folder.private(&key.name) {
        Ok(pem) if pem.contains("ENCRYPTED") => "encrypted".into(),
        Ok(_) => "not encrypted".into(),
        Err(error) => error.to_string(),
    }
}

/// The status of a key in a workspace.
fn part(file: &ApproversFile, key: &OwnKey) -> Option<String> {
    let is = |approver: &&wf_app::config::ApproverRecord| {
        approver.key.as_ref().is_some_and(|named| named.value.0 == key.public.clone().into())
    };
    let record = file.approvers.iter().find(is)?;
    let name = record.name.as_ref().map_or("", |name| name.value.as_str());
    Some(match record.revoked {
        Some(since) => format!("approver `{name}` until revoked on {}", since.0),
        None => format!("approver `{name}` here"),
    })
}

/// Exports a key.
pub fn export(ui: &Ui, args: &KeyExportArgs) -> Result<CliExitCode, CommandError> {
    let folder = keys::key_folder(&ui.host)?;
    let Some(key) = keys::choose_signing_key(&ui.host, &folder, args.name.as_deref())? else {
        let error = CommandError::new(CliExitCode::Usage, "no keys found");
        return Err(error.hint("create one with `wf key init`"));
    };
    if args.private {
        let pem = folder.private(&key.name).map_err(|error| keys::key_error(&error))?;
        let out = args.out.as_deref().unwrap_or(Path::new(""));
        return write_private(&ui.host, out, &pem);
    }
    let text = if args.hex { key.public.hex() + "\n" } else { key.public.pem() };
    match &args.out {
        Some(out) => write_private(&ui.host, out, &text),
        None => ui.print(&text).map(|()| CliExitCode::Ok),
    }
}

/// Writes a new file readable by its owner alone.
fn write_private(host: &Host, out: &Path, text: &str) -> Result<CliExitCode, CommandError> {
    let path = normalize_path(&host.cwd().join(out));
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(&path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let shown = relative_path(&path, host.cwd());
        CommandError::new(CliExitCode::Usage, format!("cannot write {shown}: {error}"))
    })?;
    Ok(CliExitCode::Ok)
}
