use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::keys::PassphraseArgs;
use crate::which::find_run;
use crate::{Ui, load_record};
use wf_app::keys::{self};
use wf_app::names::attempt_name_from_text;
use wf_app::{CliExitCode, CommandError, load, normalize_path, relative_path};
use wf_base::digest::Sha256Digest;
use wf_base::name::RunId;
use wf_base::units::plural;
use wf_base::untrusted::{BAD, GOOD, WARN, paint};
use wf_core::machine::{Event, StaleFile};
use wf_engine::stale_now;
use wf_model::Plan;
use wf_report::attest::{AttestationInput, AttestationStatement, PAYLOAD, attestation_statement};
use wf_report::record::{NestedRunRecord, RunRecord};
use wf_sign::{BadKey, DsseEnvelope, PublicKey, Signer};
use wf_store::{RunState, StoreReader, head, verify_chain};

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
    /// The latest run
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
    if args.key.is_none() && !args.statement {
        let failure = CommandError::new(CliExitCode::Usage, "no signing key given");
        return Err(failure
            .hint("pass --key NAME; `wf key list` lists your keys, `wf key init` creates one")
            .hint("pass --key FILE; `openssl genpkey -algorithm ed25519 -out FILE` creates one")
            .hint("pass --statement to write the unsigned statement"));
    }
    // An unusable key is reported before anything is read.
    let key = args.key.as_ref();
    let signer = key.map(|key| signing_key(ui, key, &args.passphrase)).transpose()?;
    let text = attestation_of(ui, args)?.text();
    write(ui, args.out.as_deref(), &(seal_text(PAYLOAD, text, signer.as_ref()) + "\n"))
}

/// Returns a text in an envelope that is signed; as it is without a key.
pub fn seal_text(payload_type: &str, text: String, signer: Option<&Signer>) -> String {
    let Some(signer) = signer else { return text };
    let envelope = DsseEnvelope::seal(payload_type, text.as_bytes(), signer);
    serde_json::to_string(&envelope).unwrap_or_default()
}

/// Returns the key that signs: an argument that looks like a file is one, any other is a name.
pub fn signing_key(ui: &Ui, key: &Path, secret: &PassphraseArgs) -> Result<Signer, CommandError> {
    let is_file = key.components().count() > 1 || key.extension().is_some();
    if is_file {
        return signer(ui, key);
    }
    let keys = keys::key_folder(&ui.host)?;
    let name = key.display().to_string();
    let Some(own) = keys::choose_signing_key(&ui.host, &keys, Some(&name))? else {
        return signer(ui, key);
    };
    keys::open_key(ui, &keys, &own, secret.file())
}

fn attestation_of(ui: &Ui, args: &AttestArgs) -> Result<AttestationStatement, CommandError> {
    let state = ui.host.workspace().state;
    if let Err(broken) = verify_chain(&StoreReader::open(&state)?)? {
        let failure = CommandError::new(CliExitCode::State, format!("the event log was altered: {broken}"));
        return Err(failure.hint("restore a backup with `wf restore`"));
    }
    let reader = StoreReader::from_log(&state)?;
    let run = find_run(args.run.as_deref(), &reader)?;
    let record = load_record(&reader, &run)?;
    refuse(&reader, &record)?;
    let known = stored_run(ui, &reader, &record)?;
    let told = attestation_input(&known, &record);
    attestation_statement(&told, env!("CARGO_PKG_VERSION")).ok_or_else(|| {
        CommandError::new(CliExitCode::State, format!("the record of run {} is incomplete", run.short()))
    })
}

fn refuse(reader: &StoreReader, record: &RunRecord) -> Result<(), CommandError> {
    let row = &record.run;
    let short = row.id.short();
    if let Some((above, attempt)) = &row.parent {
        let attempt = attempt_name_from_text(reader, above, attempt)?;
        let message = format!("run {short} is nested in another run: {attempt} of run {}", above.short());
        let failure = CommandError::new(CliExitCode::Usage, message);
        // Only the run at the top is attested, with all that is nested in it.
        let top = record.top.as_ref().unwrap_or(above);
        return Err(failure.hint(format!("wf attest {} covers it, too", top.short())));
    }
    if row.state == RunState::Running {
        let failure = CommandError::new(CliExitCode::Usage, format!("run {short} has not finished"));
        return Err(failure.hint(format!("wait until it finishes, or resume it: wf resume {short}")));
    }
    Ok(())
}

/// The stored record of a run, and of those nested in it.
struct StoredRunTree {
    plan: Arc<Plan>,
    events: Vec<(u64, Event)>,
    sources: Vec<(String, String)>,
    head: Sha256Digest,
    stale: Vec<StaleFile>,
    nested: Vec<(String, StoredRunTree)>,
}

fn stored_run(ui: &Ui, reader: &StoreReader, record: &RunRecord) -> Result<StoredRunTree, CommandError> {
    let run: &RunId = &record.run.id;
    let nested = record.nested.iter().map(|NestedRunRecord { attempt, record }| {
        let known = stored_run(ui, reader, record)?;
        Ok((attempt.clone(), known))
    });
    let (plan, events) = (load::recorded_plan(ui, reader, run)?, reader.events(run, 0)?);
    Ok(StoredRunTree {
        stale: stale_now(reader, &ui.host.workspace().root, &plan, &events)?,
        plan,
        events,
        sources: reader.sources(run)?,
        head: head(reader, run)?.unwrap_or_else(|| Sha256Digest::of_bytes(b"")),
        nested: nested.collect::<Result<_, CommandError>>()?,
    })
}

fn attestation_input<'a>(known: &'a StoredRunTree, record: &'a RunRecord) -> AttestationInput<'a> {
    let nested = known.nested.iter().zip(&record.nested);
    AttestationInput {
        record,
        plan: &known.plan,
        events: &known.events,
        sources: &known.sources,
        head: known.head,
        stale: known.stale.clone(),
        nested: nested
            .map(|((attempt, known), nested)| (attempt.clone(), attestation_input(known, &nested.record)))
            .collect(),
    }
}

/// Reads a private key file that only its owner can read.
pub(super) fn signer(ui: &Ui, path: &Path) -> Result<Signer, CommandError> {
    let file = normalize_path(&ui.host.cwd().join(path));
    let shown = relative_path(&file, ui.host.cwd());
    let pem = read(ui, path)?;
    let mode = fs::metadata(&file).map(|found| found.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o077 != 0) {
        let message = format!("the private key {shown} is readable by other users");
        return Err(CommandError::new(CliExitCode::Usage, message).hint(format!("chmod 600 {shown}")));
    }
    Signer::from_pem(&pem).map_err(|error| {
        let failure = CommandError::new(CliExitCode::Usage, format!("{shown}: {error}"));
        failure.hint(match error {
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
    let found = if hex { PublicKey::from_hex(key) } else { PublicKey::from_pem(&read(ui, Path::new(key))?) };
    found.map_err(|error| {
        let failure = CommandError::new(CliExitCode::Usage, error.to_string());
        failure.hint("create one with `openssl pkey -in KEY -pubout -out FILE`")
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
