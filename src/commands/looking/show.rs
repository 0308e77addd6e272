use std::io::Read;

use clap::Args;

use crate::log_calls::{CallView, view_call};
use crate::printed::PrintArgs;
use crate::which::open_run;
use crate::{RunArg, Ui, load_record};
use wf_app::names::name_parent;
use wf_app::{CliExitCode, CommandError, load};
use wf_base::name::{CallAddress, RunId};
use wf_engine::artifacts_of_run;
use wf_report::record::{RunRecord, show, trust};
use wf_report::rounds::rounds_table;
use wf_store::{BlobStore, StateFolder, StoreDurability, StoreReader};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf show --last                            the latest run
  wf show 1a2b --json                       everything about a run, as JSON
  wf show --last --call fix#1.3             a call of an agent: what the model got and replied
  wf show --last --print total              print an output of its plan, for a shell
  wf show 1a2b --artifact out/report.html   print an artifact of the run")]
pub struct ShowArgs {
    #[command(flatten)]
    run: RunArg,
    #[command(flatten)]
    print: PrintArgs,
    /// Write one JSON document
    #[arg(long, conflicts_with = "artifact")]
    json: bool,
    /// Show details of every re-planning round
    #[arg(long, conflicts_with_all = ["json", "artifact"])]
    rounds: bool,
    /// Show one call: `fix#1.3` is the third model call of the first attempt of `fix`, `fix#1.3.2` the second tool
    /// call in its reply, `fix#1.check.tests.1` the first call of the judge of a check
    #[arg(long, value_name = "CALL", conflicts_with_all = ["rounds", "artifact"])]
    call: Option<CallAddress>,
    /// Write the content of this artifact to standard output
    #[arg(long, value_name = "PATH")]
    artifact: Option<String>,
}

/// Shows a run.
pub fn run(ui: &Ui, args: &ShowArgs) -> Result<CliExitCode, CommandError> {
    let state = ui.host.workspace().state;
    let (reader, run, ()) = open_run(ui, |reader| Ok((args.run.resolve(reader)?, ())))?;
    if let Some(address) = &args.call {
        let CallView { document, text } = view_call(ui, &reader, run, address)?;
        if args.json {
            ui.print_json(&format!("{document:#}\n"))?;
        } else {
            ui.print(&text)?;
        }
        return Ok(CliExitCode::Ok);
    }
    if let Some(path) = &args.artifact {
        let blobs = BlobStore::new(StateFolder::new(&state).blobs(), StoreDurability::Normal);
        return artifact(ui, &reader, &blobs, &run, path);
    }
    let record = load_record(&reader, &run)?;
    if args.print.print_recorded(ui, run.short(), &record.run.outputs)? {
        return Ok(CliExitCode::Ok);
    }
    if args.rounds {
        return print_decisions(ui, &record);
    }
    if args.json {
        ui.print_json(&document(&reader, &run, &record)?)?;
    } else {
        let mut record = record;
        name_parent(&reader, &mut record.run)?;
        ui.print(&show(&record, ui.host.now()))?;
    }
    Ok(CliExitCode::Ok)
}

/// Prints the decisions of the controller on a run.
fn print_decisions(ui: &Ui, record: &RunRecord) -> Result<CliExitCode, CommandError> {
    if record.decisions.rounds.is_empty() {
        ui.print_info("no finished rounds; only plans with `replan` have rounds\n");
    } else {
        ui.print(&rounds_table(&record.decisions.rounds, true))?;
    }
    Ok(CliExitCode::Ok)
}

/// The record as one document, with the trust in the values of its plan.
fn document(reader: &StoreReader, run: &RunId, record: &RunRecord) -> Result<String, CommandError> {
    let mut document = record.document();
    if let (Some(plan), Some(fields)) = (load::recorded_plan_if_valid(reader, run)?, document.as_object_mut())
    {
        fields.insert("taint".into(), trust(&plan));
    }
    Ok(format!("{document:#}\n"))
}

fn artifact(
    ui: &Ui,
    reader: &StoreReader,
    blobs: &BlobStore,
    run: &RunId,
    path: &str,
) -> Result<CliExitCode, CommandError> {
    let rows = artifacts_of_run(reader, run)?;
    let Some(row) = rows.iter().rfind(|row| row.artifact.path == path) else {
        let failure = CommandError::new(CliExitCode::Usage, format!("the run has no artifact `{path}`"));
        let known: Vec<&str> = rows.iter().map(|row| row.artifact.path.as_str()).collect();
        return Err(match known.as_slice() {
            [] => failure.hint("it has no artifacts"),
            _ => failure.hint(format!("its artifacts are {}", known.join(", "))),
        });
    };
    if !reader.pruned_artifacts([row.artifact.digest])?.is_empty() {
        let gone = format!("`{path}` of run {} was removed by `retention`; its record is kept", run.short());
        let hint = "run the plan again to make it anew; `max_artifact_bytes` in wf.yaml says how much stays";
        return Err(CommandError::new(CliExitCode::State, gone).hint(hint));
    }
    let mut file = blobs.open(&row.artifact.digest)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = file.read(&mut buffer).map_err(|error| {
            CommandError::new(CliExitCode::State, format!("cannot read the stored file: {error}"))
        })?;
        match buffer.get(..read) {
            None | Some([]) => return Ok(CliExitCode::Ok),
            Some(bytes) => ui.print_bytes(bytes)?,
        }
    }
}
