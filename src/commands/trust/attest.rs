use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use clap::Args;

use crate::{Ui, keys::PassphraseArgs};
use wf_app::{
    CliExitCode, CommandError, StateReader,
    keys::{self},
    normalize_path,
    records::attest_run,
    relative_path,
};
use wf_base::{
    units::plural,
    untrusted::{BAD, GOOD, WARN, paint},
};
use wf_report::attest::{AttestationStatement, PAYLOAD};
use wf_sign::{BadKey, DsseEnvelope, PublicKey, Signer};

#[derive(Args, Debug)]
#[command(after_help = "\
Writes an in-toto statement about the artifacts of a run: the workflow files it ran, the checks,
and their verdicts. The statement is signed with an Ed25519 key and wrapped in a DSSE envelope,
which other tools can verify, too. See docs/attestation.md.

Examples:
  openssl genpkey -algorithm ed25519 -out key.pem && chmod 600 key.pem
  openssl pkey -in key.pem -pubout -out public.pem
  wf attest --last --key key.pem --out run.dsse.json
  wf attest --verify run.dsse.json --public-key public.pem
  wf attest 1a2b --statement         only the statement, unsigned")]
pub struct AttestArgs {
    /// Run ID or unique prefix
    #[arg(value_name = "RUN", required_unless_present_any = ["last", "verify"])]
    run: Option<String>,
    /// The latest run; a check or a repair that a slot of a goal began counts only where there is
    /// no other
    #[arg(long, conflicts_with = "run")]
    last: bool,
    /// Sign with this private key: one of yours by its name, or a PEM file (PKCS #8) that is not
    /// encrypted and readable by you alone
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "statement")]
    key: Option<PathBuf>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the statement alone, not signed
    #[arg(long)]
    statement: bool,
    /// Verify an envelope instead
    #[arg(
        long,
        value_name = "FILE",
        requires = "public_key",
        conflicts_with_all = ["run", "last", "key", "out", "statement"]
    )]
    verify: Option<PathBuf>,
    /// Public key that must have signed it: a PEM file, or 64 hexadecimal digits
    #[arg(long, value_name = "FILE|HEX", requires = "verify")]
    public_key: Option<String>,
}

/// Attests a run, or verifies an attestation.
pub fn run(ui: &Ui, args: &AttestArgs) -> Result<CliExitCode, CommandError> {
    if let (Some(envelope), Some(key)) = (&args.verify, &args.public_key) {
        return check(ui, envelope, key);
    }
    let run = StateReader::from_log(&ui.host.workspace())?.find_run(args.run.as_deref())?;
    if args.key.is_none() && !args.statement {
        let error = CommandError::new(CliExitCode::Usage, "no signing key given");
        return Err(error
            .hint("pass --key NAME; `wf key list` lists your keys, `wf key init` creates one")
            .hint("pass --key FILE; `openssl genpkey -algorithm ed25519 -out FILE` creates one")
            .hint("pass --statement to write the unsigned statement"));
    }
    // An unusable key is reported before the history is read.
    let key = args.key.as_ref();
    let signer = key.map(|key| signing_key(ui, key, &args.passphrase)).transpose()?;
    let text = attest_run(ui, &run, env!("CARGO_PKG_VERSION"))?.text();
    write(ui, args.out.as_deref(), &(seal_text(PAYLOAD, text, signer.as_ref()) + "\n"))
}

/// Returns a text in a signed envelope; as it is without a key.
pub fn seal_text(payload_type: &str, text: String, signer: Option<&Signer>) -> String {
    let Some(signer) = signer else { return text };
    let envelope = DsseEnvelope::seal(payload_type, text.as_bytes(), signer);
    serde_json::to_string(&envelope).unwrap_or_default()
}

/// Returns the signing key: an argument in the form of a file is one, any other is a name.
pub fn signing_key(ui: &Ui, key: &Path, passphrase: &PassphraseArgs) -> Result<Signer, CommandError> {
    let is_file = key.components().count() > 1 || key.extension().is_some();
    if is_file {
        return signer(ui, key);
    }
    let folder = keys::key_folder(&ui.host)?;
    let name = key.display().to_string();
    let Some(own_key) = keys::choose_signing_key(&ui.host, &folder, Some(&name))? else {
        return signer(ui, key);
    };
    keys::open_key(ui, &folder, &own_key, passphrase.file())
}

/// Reads a private key file, refused if other users can read it.
pub(super) fn signer(ui: &Ui, path: &Path) -> Result<Signer, CommandError> {
    let file = normalize_path(&ui.host.cwd().join(path));
    let shown = relative_path(&file, ui.host.cwd());
    let pem = read(ui, path)?;
    let mode = fs::metadata(&file).map(|metadata| metadata.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o077 != 0) {
        let message = format!("the private key {shown} is readable by other users");
        return Err(CommandError::new(CliExitCode::Usage, message).hint(format!("chmod 600 {shown}")));
    }
    Signer::from_pem(&pem).map_err(|error| {
        let command_error = CommandError::new(CliExitCode::Usage, format!("{shown}: {error}"));
        command_error.hint(match error {
            BadKey::Encrypted => "`openssl pkey -in FILE -out FILE` decrypts it",
            _ => "create one with `openssl genpkey -algorithm ed25519 -out FILE`",
        })
    })
}

/// Reads a file named on the command line.
pub(super) fn read(ui: &Ui, path: &Path) -> Result<String, CommandError> {
    let file = normalize_path(&ui.host.cwd().join(path));
    fs::read_to_string(&file).map_err(|error| {
        let shown = relative_path(&file, ui.host.cwd());
        CommandError::new(CliExitCode::Usage, format!("cannot read {shown}: {error}"))
    })
}

/// Writes to a file named on the command line, or to standard output.
pub(crate) fn write(ui: &Ui, out: Option<&Path>, text: &str) -> Result<CliExitCode, CommandError> {
    let Some(out) = out else {
        ui.print_json(text)?;
        return Ok(CliExitCode::Ok);
    };
    let file = normalize_path(&ui.host.cwd().join(out));
    fs::write(&file, text).map_err(|error| {
        let shown = relative_path(&file, ui.host.cwd());
        CommandError::new(CliExitCode::Usage, format!("cannot write {shown}: {error}"))
    })?;
    Ok(CliExitCode::Ok)
}

/// Verifies the signature of an envelope, and prints its statement.
fn check(ui: &Ui, envelope: &Path, key: &str) -> Result<CliExitCode, CommandError> {
    let key = public(ui, key)?;
    let text = read(ui, envelope)?;
    let opened = DsseEnvelope::parse(&text).and_then(|envelope| envelope.open(PAYLOAD, &key));
    let statement = match &opened {
        Ok(payload) => AttestationStatement::parse(payload).filter(AttestationStatement::is_ours),
        Err(error) => {
            ui.print_message_line(&format!("{} {error}", paint(BAD, "invalid:")));
            return Ok(CliExitCode::RunFailed);
        }
    };
    let Some(statement) = statement else {
        let reason = "the signature is valid, but the content is not an attestation of a wf run";
        ui.print_message_line(&format!("{} {reason}", paint(BAD, "invalid:")));
        return Ok(CliExitCode::RunFailed);
    };
    ui.print(&summary(&statement, &key))?;
    Ok(CliExitCode::Ok)
}

/// A public key: 64 hexadecimal digits, or a file.
pub fn public(ui: &Ui, key: &str) -> Result<PublicKey, CommandError> {
    let hex = key.len() == 64 && key.bytes().all(|b| b.is_ascii_hexdigit());
    let public_key =
        if hex { PublicKey::from_hex(key) } else { PublicKey::from_pem(&read(ui, Path::new(key))?) };
    public_key.map_err(|error| {
        let error = CommandError::new(CliExitCode::Usage, error.to_string());
        error.hint("create one with `openssl pkey -in KEY -pubout -out FILE`")
    })
}

fn summary(statement: &AttestationStatement, key: &PublicKey) -> String {
    let predicate = &statement.predicate;
    let run = &predicate.run;
    let mut text = format!(
        "{} signed by key {}\n  run       {} of {}\n  outcome   {} · {}\n  files     {}\n",
        paint(GOOD, "valid:"),
        key.id(),
        run.id,
        run.plan.id,
        run.outcome.as_str(),
        run.standing.as_str(),
        plural(statement.subject.len(), "subject"),
    );
    for stale in &predicate.stale {
        let line = format!("{} changed after it was checked", stale.path);
        text += &format!("  {}     {} · {line}\n", paint(WARN, "stale"), stale.step);
    }
    text
}
