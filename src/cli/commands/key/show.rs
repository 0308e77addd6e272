use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::cli::keys::{self, OwnKey};
use crate::cli::{Exit, Failure, Ui, load, normal, relative};
use crate::config::ApproversFile;
use crate::exec::keyfile::Keys;
use crate::report::plural;

/// List your keys, and whether they may approve here
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Write a public key, for others
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf key export                      the public key, as openssl reads it
  wf key export ada --hex            as approvers.yaml names it
  wf key export ada --private --out ada.pem   a copy of the private key, readable by you alone")]
pub struct ExportArgs {
    /// The key; by default, the one that signs
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// As PEM (the default)
    #[arg(long, conflicts_with = "hex")]
    pem: bool,
    /// As 64 hexadecimal digits
    #[arg(long)]
    hex: bool,
    /// The private key instead, to a file that does not exist yet
    #[arg(long, requires = "out", conflicts_with = "hex")]
    private: bool,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Lists keys.
pub fn list(ui: &Ui, args: &ListArgs) -> Result<Exit, Failure> {
    let keys = keys::keys(ui)?;
    let own = keys::own(&keys)?;
    let listed = load::approvers(ui, &ui.workspace())?.map(|(file, _)| file);
    if args.json {
        let one = |key: &OwnKey| {
            json!({
                "name": key.name,
                "key": key.public.hex(),
                "kept": kept(&keys, key),
                "part": listed.as_ref().and_then(|file| part(file, key)),
            })
        };
        let all: Vec<Value> = own.iter().map(one).collect();
        let document = json!({"v": 1, "folder": keys.dir(), "keys": all});
        ui.print_json(&format!("{document:#}\n"))?;
        return Ok(Exit::Ok);
    }
    let width = own.iter().map(|key| key.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for key in &own {
        let (name, hex) = (&key.name, key.public.hex());
        let _ = write!(text, "{name:<width$}  {hex}  {}", kept(&keys, key));
        if let Some(part) = listed.as_ref().and_then(|file| part(file, key)) {
            let _ = write!(text, " · {part}");
        }
        text.push('\n');
    }
    ui.print(&text)?;
    ui.note_line(&format!(
        "{} in {}",
        plural(own.len(), "key"),
        keys.dir().display()
    ));
    Ok(Exit::Ok)
}

fn kept(keys: &Keys, key: &OwnKey) -> String {
    match keys.private(&key.name) {
        Ok(pem) if pem.contains("ENCRYPTED") => "encrypted".into(),
        Ok(_) => "not encrypted".into(),
        Err(bad) => bad.to_string(),
    }
}

/// What a key is in a workspace.
fn part(file: &ApproversFile, key: &OwnKey) -> Option<String> {
    let is = |one: &&crate::config::ApproverFile| {
        one.key
            .as_ref()
            .is_some_and(|named| named.value.0 == key.public)
    };
    let one = file.approvers.iter().find(is)?;
    let name = one.name.as_ref().map_or("", |name| name.value.as_str());
    Some(match one.revoked {
        Some(since) => format!("was the approver `{name}`, revoked {}", since.0),
        None => format!("the approver `{name}` here"),
    })
}

/// Writes a key.
pub fn export(ui: &Ui, args: &ExportArgs) -> Result<Exit, Failure> {
    let keys = keys::keys(ui)?;
    let Some(key) = keys::choose(ui, &keys, args.name.as_deref())? else {
        let failure = Failure::new(Exit::Usage, "there is no key");
        return Err(failure.hint("`wf key init` makes one"));
    };
    if args.private {
        let pem = keys.private(&key.name).map_err(|bad| keys::fault(&bad))?;
        let out = args.out.as_deref().unwrap_or(Path::new(""));
        return written(ui, out, &pem);
    }
    let text = if args.hex {
        key.public.hex() + "\n"
    } else {
        key.public.pem()
    };
    match &args.out {
        Some(out) => written(ui, out, &text),
        None => ui.print(&text).map(|()| Exit::Ok),
    }
}

/// Writes a new file for its owner alone.
fn written(ui: &Ui, out: &Path, text: &str) -> Result<Exit, Failure> {
    let path = normal(&ui.env.cwd().join(out));
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(&path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let shown = relative(&path, ui.env.cwd());
        Failure::new(Exit::Usage, format!("cannot write {shown}: {error}"))
    })?;
    Ok(Exit::Ok)
}
