use std::path::{Path, PathBuf};

use clap::Args;

use crate::{
    Ui,
    commands::trust::attest::{public, read},
};
use wf_app::{
    CliExitCode, CommandError,
    audit_log::{describe_start, is_repairable, keep_verification, verify_logs},
};
use wf_audit::{AuditFindings, Checkpoint, PAYLOAD};
use wf_base::{
    units::plural,
    untrusted::{BAD, GOOD, NAME, WARN, paint},
};
use wf_sign::DsseEnvelope;

/// Verify that the history is unaltered
#[derive(Args, Debug)]
#[command(after_help = "\
Verifies the events of the database and the records of the audit log, and compares the two: those
added since the last verification that found nothing. With --full, or with a checkpoint that is
stored elsewhere, it verifies all; the latter also detects the replacement of both logs. Exit code
1: something was changed, dropped, inserted, reordered or rolled back; 6: something cannot be read.

Examples:
  wf audit verify                    what was added since the last time
  wf audit verify --full
  wf audit verify --checkpoint audit.dsse.json --public-key public.pem")]
pub struct AuditVerifyArgs {
    /// Also compare with a checkpoint
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Public key that must have signed it: a PEM file, or 64 hexadecimal digits
    #[arg(long, value_name = "FILE|HEX", requires = "checkpoint")]
    public_key: Option<String>,
    /// Verify everything, also what was verified before
    #[arg(long)]
    full: bool,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Verifies the logs and prints the result.
pub fn run(ui: &Ui, args: &AuditVerifyArgs) -> Result<CliExitCode, CommandError> {
    let key = args.public_key.as_deref();
    let checkpoint = args.checkpoint.as_ref().map(|path| load(ui, path, key)).transpose()?;
    let (checkpoint, signed) = checkpoint.unzip();
    let findings = verify_logs(&ui.host, checkpoint.as_ref(), args.full)?;
    if args.checkpoint.is_none() {
        keep_verification(&ui.host, &findings);
    }
    if args.json {
        ui.print_json(&json(&findings))?;
    } else {
        ui.print(&text(&findings))?;
    }
    if signed == Some(false) {
        let warning = paint(WARN, "warning:");
        ui.print_info_line(&format!("{warning} the checkpoint is not signed"));
    }
    Ok(if findings.evidence.is_empty() { CliExitCode::Ok } else { CliExitCode::RunFailed })
}

/// Reads a checkpoint; true if it is signed.
fn load(ui: &Ui, path: &Path, key: Option<&str>) -> Result<(Checkpoint, bool), CommandError> {
    let wrong = |reason: &str| {
        let message = format!("{} is not a checkpoint: {reason}", path.display());
        CommandError::new(CliExitCode::Usage, message)
            .hint("create one with `wf audit checkpoint --out FILE`")
    };
    let text = read(ui, path)?;
    let Ok(envelope) = DsseEnvelope::parse(&text) else {
        if key.is_some() {
            return Err(wrong("it is not signed"));
        }
        let plain = Checkpoint::parse(&text).ok_or_else(|| wrong("unexpected content"))?;
        return Ok((plain, false));
    };
    let Some(key) = key else {
        let error =
            CommandError::new(CliExitCode::Usage, "the checkpoint is signed, but no public key was given");
        return Err(error.hint("pass the signer's key with --public-key FILE"));
    };
    let key = public(ui, key)?;
    let payload = envelope.open(PAYLOAD, &key).map_err(|error| {
        let message = format!("invalid checkpoint: {error}");
        CommandError::new(CliExitCode::RunFailed, message)
    })?;
    let text = String::from_utf8(payload).unwrap_or_default();
    let signed = Checkpoint::parse(&text).ok_or_else(|| wrong("unexpected content"))?;
    Ok((signed, true))
}

fn count_text(count: u64, noun: &str) -> String {
    plural(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

fn text(findings: &AuditFindings) -> String {
    let description = format!(
        "{} and {}",
        count_text(findings.events, "event"),
        count_text(findings.records, "audit record")
    );
    let mut text = if findings.evidence.is_empty() {
        format!("{} {description} are consistent\n", paint(GOOD, "valid:"))
    } else {
        let faults = plural(findings.evidence.len(), "fault");
        format!("{} {faults} in {description}\n", paint(BAD, "invalid:"))
    };
    if let Some(since) = describe_start(findings) {
        text += &format!("  {} {since}; everything: wf audit verify --full\n", paint(NAME, "since"));
    }
    for evidence in &findings.evidence {
        text += &format!("  {} {evidence}\n", paint(BAD, "fault"));
    }
    for note in &findings.notes {
        text += &format!("  {}  {note}\n", paint(NAME, "note"));
    }
    if findings.evidence.iter().any(is_repairable) {
        let hint = paint(NAME, "hint:");
        text += &format!("{hint} tables can be rebuilt from an intact log: wf doctor --repair\n");
    }
    text
}

fn json(findings: &AuditFindings) -> String {
    let array = |texts: Vec<String>| serde_json::Value::from(texts);
    let document = serde_json::json!({
        "v": 1,
        "holds": findings.evidence.is_empty(),
        "events": findings.events,
        "records": findings.records,
        "faults": array(findings.evidence.iter().map(ToString::to_string).collect()),
        "notes": array(findings.notes.iter().map(ToString::to_string).collect()),
        "heads": findings.checkpoint,
        "since": findings.since_checkpoint,
    });
    format!("{document:#}\n")
}
