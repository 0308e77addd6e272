use std::io::Read;

use clap::Args;

use crate::cli::which::called_attempt;
use crate::cli::{Exit, Failure, RunArg, Ui, load, load_record};
use crate::name::RunId;
use crate::report::record::{Record, show, trust};
use crate::report::rounds::rounds;
use crate::store::{Blobs, Durability, Folder, Reader};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf show --last                            the latest run
  wf show 1a2b --json                       everything about a run, for a program
  wf show 1a2b --artifact out/report.html   the content of a file that the run left")]
pub struct ShowArgs {
    #[command(flatten)]
    run: RunArg,
    /// Write one JSON document
    #[arg(long, conflicts_with = "artifact")]
    json: bool,
    /// Tell everything about its rounds: why, what was blocked, what ran again
    #[arg(long, conflicts_with_all = ["json", "artifact"])]
    rounds: bool,
    /// Write the content of this artifact to standard output
    #[arg(long, value_name = "PATH")]
    artifact: Option<String>,
}

/// Shows a run.
pub fn run(ui: &Ui, args: &ShowArgs) -> Result<Exit, Failure> {
    let state = ui.workspace().state;
    let reader = Reader::open(&state)?;
    let run = args.run.resolve(&reader)?;
    if let Some(path) = &args.artifact {
        let blobs = Blobs::new(Folder::new(&state).blobs(), Durability::Normal);
        return artifact(ui, &reader, &blobs, (&run, path));
    }
    let record = load_record(&reader, &run)?;
    if args.rounds {
        return told(ui, &record);
    }
    if args.json {
        ui.print_json(&document(&reader, &run, &record)?)?;
    } else {
        let mut record = record;
        if let Some((above, attempt)) = &mut record.run.parent {
            *attempt = called_attempt(&reader, above, attempt)?;
        }
        ui.print(&show(&record, ui.env.now()))?;
    }
    Ok(Exit::Ok)
}

/// What the controller made of a run.
fn told(ui: &Ui, record: &Record) -> Result<Exit, Failure> {
    if record.held.rounds.is_empty() {
        ui.note("no round of the run has ended; only plans with `replan` have rounds\n");
    } else {
        ui.print(&rounds(&record.held.rounds, true))?;
    }
    Ok(Exit::Ok)
}

/// The record as one document, with how far the values of its plan are trusted.
fn document(reader: &Reader, run: &RunId, record: &Record) -> Result<String, Failure> {
    let mut document = record.document();
    if let (Some(plan), Some(fields)) = (load::before(reader, run)?, document.as_object_mut()) {
        fields.insert("taint".into(), trust(&plan));
    }
    Ok(format!("{document:#}\n"))
}

fn artifact(
    ui: &Ui,
    reader: &Reader,
    blobs: &Blobs,
    (run, path): (&RunId, &str),
) -> Result<Exit, Failure> {
    let rows = reader.artifacts(run)?;
    let Some(row) = rows.iter().rfind(|row| row.artifact.path == path) else {
        let failure = Failure::new(Exit::Usage, format!("the run left no artifact `{path}`"));
        let known: Vec<&str> = rows.iter().map(|row| row.artifact.path.as_str()).collect();
        return Err(match known.as_slice() {
            [] => failure.hint("it left no artifacts at all"),
            _ => failure.hint(format!("it left {}", known.join(", "))),
        });
    };
    let mut file = blobs.open(&row.artifact.digest)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = file.read(&mut buffer).map_err(|error| {
            Failure::new(Exit::State, format!("cannot read the kept file: {error}"))
        })?;
        match buffer.get(..read) {
            None | Some([]) => return Ok(Exit::Ok),
            Some(bytes) => ui.print_bytes(bytes)?,
        }
    }
}
