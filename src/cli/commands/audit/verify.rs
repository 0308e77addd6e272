use std::path::{Path, PathBuf};

use clap::Args;

use crate::audit::{self, Checkpoint, Found, PAYLOAD};
use crate::cli::commands::attest::{public, read};
use crate::cli::{Exit, Failure, Ui};
use crate::report::{BAD, GOOD, NAME, WARN, paint, plural};
use crate::seal::Envelope;
use crate::store::{Reader, StoreError};

/// Say whether the history is the one that was written
#[derive(Args, Debug)]
#[command(after_help = "\
Looks at every event of the database and every record of the audit log, and compares the two. Exit
code 1: something was changed, dropped, inserted, reordered or put back; 6: something cannot be
read. Who could replace both logs as a whole is found out with a checkpoint that was kept elsewhere.

Examples:
  wf audit verify
  wf audit verify --checkpoint audit.dsse.json --public-key public.pem")]
pub struct VerifyArgs {
    /// Compare with a checkpoint, too
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// The public key that must have signed it: a PEM file, or 64 hexadecimal digits
    #[arg(long, value_name = "FILE|HEX", requires = "checkpoint")]
    public_key: Option<String>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Verifies.
pub fn run(ui: &Ui, args: &VerifyArgs) -> Result<Exit, Failure> {
    let key = args.public_key.as_deref();
    let checkpoint = args
        .checkpoint
        .as_ref()
        .map(|path| load(ui, path, key))
        .transpose()?;
    let (checkpoint, signed) = checkpoint.unzip();
    let found = found(ui, checkpoint.as_ref())?;
    if args.json {
        ui.print_json(&json(&found))?;
    } else {
        ui.print(&text(&found))?;
    }
    if signed == Some(false) {
        let warning = paint(WARN, "warning:");
        ui.note_line(&format!("{warning} nobody signed the checkpoint"));
    }
    Ok(if found.faults.is_empty() {
        Exit::Ok
    } else {
        Exit::RunFailed
    })
}

/// Looks at both logs.
pub(super) fn found(ui: &Ui, checkpoint: Option<&Checkpoint>) -> Result<Found, Failure> {
    let state = ui.workspace().state;
    if !audit::path(&state).exists()
        && let Err(error @ StoreError::NoState(_)) = Reader::open(&state)
        && checkpoint.is_none()
    {
        return Err(error.into());
    }
    Ok(audit::verify(&state, checkpoint, ui.env.now())?)
}

/// A checkpoint, and whether it is signed.
fn load(ui: &Ui, path: &Path, key: Option<&str>) -> Result<(Checkpoint, bool), Failure> {
    let wrong = |why: &str| {
        let message = format!("{} is no checkpoint: {why}", path.display());
        Failure::new(Exit::Usage, message).hint("`wf audit checkpoint --out FILE` makes one")
    };
    let text = read(ui, path)?;
    let Ok(envelope) = Envelope::parse(&text) else {
        if key.is_some() {
            return Err(wrong("nobody signed it"));
        }
        let plain = Checkpoint::parse(&text).ok_or_else(|| wrong("it says something else"))?;
        return Ok((plain, false));
    };
    let Some(key) = key else {
        let failure = Failure::new(Exit::Usage, "the checkpoint is signed; by whom?");
        return Err(failure.hint("--public-key FILE names the key that must have signed it"));
    };
    let key = public(ui, key)?;
    let payload = envelope.open(PAYLOAD, &key).map_err(|error| {
        let message = format!("the checkpoint does not hold: {error}");
        Failure::new(Exit::RunFailed, message)
    })?;
    let text = String::from_utf8(payload).unwrap_or_default();
    let signed = Checkpoint::parse(&text).ok_or_else(|| wrong("it says something else"))?;
    Ok((signed, true))
}

fn counted(count: u64, what: &str) -> String {
    plural(usize::try_from(count).unwrap_or(usize::MAX), what)
}

fn text(found: &Found) -> String {
    let what = format!(
        "{} and {}",
        counted(found.events, "event"),
        counted(found.records, "audit record")
    );
    let mut text = if found.faults.is_empty() {
        format!("{} {what}, and they agree\n", paint(GOOD, "holds:"))
    } else {
        let faults = plural(found.faults.len(), "fault");
        format!("{} {faults} in {what}\n", paint(BAD, "does not hold:"))
    };
    for fault in &found.faults {
        text += &format!("  {} {fault}\n", paint(BAD, "fault"));
    }
    for note in &found.notes {
        text += &format!("  {}  {note}\n", paint(NAME, "note"));
    }
    text
}

fn json(found: &Found) -> String {
    let all = |texts: Vec<String>| serde_json::Value::from(texts);
    let document = serde_json::json!({
        "v": 1,
        "holds": found.faults.is_empty(),
        "events": found.events,
        "records": found.records,
        "faults": all(found.faults.iter().map(ToString::to_string).collect()),
        "notes": all(found.notes.iter().map(ToString::to_string).collect()),
        "heads": found.heads,
    });
    format!("{document:#}\n")
}
