use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::cli::keys::{self, PassphraseArgs};
use crate::cli::which::{called_attempt, named};
use crate::cli::{Exit, Failure, Ui, load, load_record, normal, relative};
use crate::digest::Digest;
use crate::engine::stale_now;
use crate::machine::Event;
use crate::model::Plan;
use crate::name::RunId;
use crate::report::attest::{PAYLOAD, Statement, Told, statement};
use crate::report::record::{Nested, Record};
use crate::report::{BAD, GOOD, WARN, paint, plural};
use crate::seal::{BadKey, Envelope, PublicKey, Signer};
use crate::store::{Reader, RunState, head, verify_chain};

#[derive(Args, Debug)]
#[command(after_help = "\
Writes an in-toto statement about the files that a run left: by which texts it went, what was
checked, what was ruled. It is signed with an Ed25519 key and put into a DSSE envelope, which other
tools can check, too. docs/attestation.md describes it.

Examples:
  openssl genpkey -algorithm ed25519 -out key.pem && chmod 600 key.pem
  openssl pkey -in key.pem -pubout -out public.pem
  wf attest --last --key key.pem --out run.dsse.json
  wf attest --verify run.dsse.json --public-key public.pem
  wf attest 1a2b --statement         the statement alone, not signed")]
pub struct AttestArgs {
    /// The run, by as much of its id as is unique
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
    /// Check an envelope instead
    #[arg(
        long,
        value_name = "FILE",
        requires = "public_key",
        conflicts_with_all = ["run", "last", "key", "out", "statement"]
    )]
    verify: Option<PathBuf>,
    /// The public key that must have signed it: a PEM file, or 64 hexadecimal digits
    #[arg(long, value_name = "FILE|HEX", requires = "verify")]
    public_key: Option<String>,
}

/// Attests a run, or checks an attestation.
pub fn run(ui: &Ui, args: &AttestArgs) -> Result<Exit, Failure> {
    if let (Some(envelope), Some(key)) = (&args.verify, &args.public_key) {
        return check(ui, envelope, key);
    }
    if args.key.is_none() && !args.statement {
        let failure = Failure::new(Exit::Usage, "which key shall sign it?");
        return Err(failure
            .hint("--key NAME; `wf key list` lists yours, `wf key init` makes one")
            .hint("--key FILE; `openssl genpkey -algorithm ed25519 -out FILE` makes one")
            .hint("--statement writes the statement alone, not signed"));
    }
    // A key that cannot be used is said before anything is read.
    let key = args.key.as_ref();
    let signer = key
        .map(|key| signs(ui, key, &args.passphrase))
        .transpose()?;
    let text = said(ui, args)?.text();
    let written = match signer {
        Some(signer) => {
            let envelope = Envelope::seal(PAYLOAD, text.as_bytes(), &signer);
            serde_json::to_string(&envelope).unwrap_or_default()
        }
        None => text,
    };
    write(ui, args.out.as_deref(), &(written + "\n"))
}

/// The key that signs: what looks like a file is one, everything else a name.
pub fn signs(ui: &Ui, key: &Path, secret: &PassphraseArgs) -> Result<Signer, Failure> {
    let is_file = key.components().count() > 1 || key.extension().is_some();
    if is_file {
        return signer(ui, key);
    }
    let keys = keys::keys(ui)?;
    let name = key.display().to_string();
    let Some(own) = keys::choose(ui, &keys, Some(&name))? else {
        return signer(ui, key);
    };
    keys::open(ui, &keys, &own, secret)
}

fn said(ui: &Ui, args: &AttestArgs) -> Result<Statement, Failure> {
    let state = ui.workspace().state;
    if let Err(broken) = verify_chain(&Reader::open(&state)?)? {
        let failure = Failure::new(Exit::State, format!("the log was altered: {broken}"));
        return Err(failure.hint("`wf restore` brings a backup back"));
    }
    let reader = Reader::from_log(&state)?;
    let run = named(args.run.as_deref(), &reader)?;
    let record = load_record(&reader, &run)?;
    refuse(&reader, &record)?;
    let known = known(ui, &reader, &record)?;
    let told = told(&known, &record, &ui.workspace().root);
    statement(&told, env!("CARGO_PKG_VERSION")).ok_or_else(|| {
        Failure::new(
            Exit::State,
            format!("the record of run {} is not whole", run.short()),
        )
    })
}

fn refuse(reader: &Reader, record: &Record) -> Result<(), Failure> {
    let row = &record.run;
    let short = row.id.short();
    if let Some((above, attempt)) = &row.parent {
        let attempt = called_attempt(reader, above, attempt)?;
        let message = format!(
            "run {short} is part of another: {attempt} of run {}",
            above.short()
        );
        let failure = Failure::new(Exit::Usage, message);
        // Only the run at the top is attested, with all that is nested in it.
        let top = record.top.as_ref().unwrap_or(above);
        return Err(failure.hint(format!("wf attest {} speaks of it, too", top.short())));
    }
    if row.state == RunState::Running {
        let failure = Failure::new(Exit::Usage, format!("run {short} has not ended"));
        return Err(failure.hint(format!(
            "wait for its end, or go on with it: wf resume {short}"
        )));
    }
    Ok(())
}

/// What is read of a run, and of those nested in it.
struct Known {
    plan: Arc<Plan>,
    events: Vec<(u64, Event)>,
    sources: Vec<(String, String)>,
    head: Digest,
    nested: Vec<(String, Known)>,
}

fn known(ui: &Ui, reader: &Reader, record: &Record) -> Result<Known, Failure> {
    let run: &RunId = &record.run.id;
    let nested = record.nested.iter().map(|Nested { attempt, record }| {
        let known = known(ui, reader, record)?;
        Ok((attempt.clone(), known))
    });
    Ok(Known {
        plan: load::recorded(ui, reader, run)?,
        events: reader.events(run, 0)?,
        sources: reader.sources(run)?,
        head: head(reader, run)?.unwrap_or_else(|| Digest::of(b"")),
        nested: nested.collect::<Result<_, Failure>>()?,
    })
}

fn told<'a>(known: &'a Known, record: &'a Record, root: &Path) -> Told<'a> {
    let nested = known.nested.iter().zip(&record.nested);
    Told {
        record,
        plan: &known.plan,
        events: &known.events,
        sources: &known.sources,
        head: known.head,
        stale: stale_now(root, &known.plan, &known.events),
        nested: nested
            .map(|((attempt, known), nested)| (attempt.clone(), told(known, &nested.record, root)))
            .collect(),
    }
}

/// Reads a private key that nobody else can read.
pub(super) fn signer(ui: &Ui, path: &Path) -> Result<Signer, Failure> {
    let file = normal(&ui.env.cwd().join(path));
    let shown = relative(&file, ui.env.cwd());
    let pem = read(ui, path)?;
    let mode = fs::metadata(&file).map(|found| found.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o077 != 0) {
        let message = format!("others can read the private key {shown}");
        return Err(Failure::new(Exit::Usage, message).hint(format!("chmod 600 {shown}")));
    }
    Signer::from_pem(&pem).map_err(|error| {
        let failure = Failure::new(Exit::Usage, format!("{shown}: {error}"));
        failure.hint(match error {
            BadKey::Encrypted => "`openssl pkey -in FILE -out FILE` decrypts it",
            _ => "`openssl genpkey -algorithm ed25519 -out FILE` makes one",
        })
    })
}

/// Reads a file that was named on the command line.
pub(super) fn read(ui: &Ui, path: &Path) -> Result<String, Failure> {
    let file = normal(&ui.env.cwd().join(path));
    fs::read_to_string(&file).map_err(|error| {
        let shown = relative(&file, ui.env.cwd());
        Failure::new(Exit::Usage, format!("cannot read {shown}: {error}"))
    })
}

/// Writes to a file that was named on the command line, or to standard output.
pub(super) fn write(ui: &Ui, out: Option<&Path>, text: &str) -> Result<Exit, Failure> {
    let Some(out) = out else {
        ui.print_json(text)?;
        return Ok(Exit::Ok);
    };
    let file = normal(&ui.env.cwd().join(out));
    fs::write(&file, text).map_err(|error| {
        let shown = relative(&file, ui.env.cwd());
        Failure::new(Exit::Usage, format!("cannot write {shown}: {error}"))
    })?;
    Ok(Exit::Ok)
}

/// Checks who signed an envelope, and tells what it says.
fn check(ui: &Ui, envelope: &Path, key: &str) -> Result<Exit, Failure> {
    let key = public(ui, key)?;
    let text = read(ui, envelope)?;
    let opened = Envelope::parse(&text).and_then(|envelope| envelope.open(PAYLOAD, &key));
    let statement = match &opened {
        Ok(payload) => Statement::parse(payload).filter(Statement::is_ours),
        Err(error) => {
            ui.say_line(&format!("{} {error}", paint(BAD, "does not hold:")));
            return Ok(Exit::RunFailed);
        }
    };
    let Some(statement) = statement else {
        let why = "it is signed, but is no attestation of a run by wf";
        ui.say_line(&format!("{} {why}", paint(BAD, "does not hold:")));
        return Ok(Exit::RunFailed);
    };
    ui.print(&summary(&statement, &key))?;
    Ok(Exit::Ok)
}

/// A public key: 64 hexadecimal digits, or a file.
pub fn public(ui: &Ui, key: &str) -> Result<PublicKey, Failure> {
    let hex = key.len() == 64 && key.bytes().all(|b| b.is_ascii_hexdigit());
    let found = if hex {
        PublicKey::from_hex(key)
    } else {
        PublicKey::from_pem(&read(ui, Path::new(key))?)
    };
    found.map_err(|error| {
        let failure = Failure::new(Exit::Usage, error.to_string());
        failure.hint("`openssl pkey -in KEY -pubout -out FILE` writes one")
    })
}

fn summary(statement: &Statement, key: &PublicKey) -> String {
    let predicate = &statement.predicate;
    let run = &predicate.run;
    let mut text = format!(
        "{} signed by key {}\n  run       {} of {}\n  outcome   {} · {}\n  files     {}\n",
        paint(GOOD, "holds:"),
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
