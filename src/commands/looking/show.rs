use std::io::Read;

use clap::Args;

use crate::{RunArg, Ui, printed::PrintArgs, which::open_run};
use wf_app::{
    CliExitCode, CommandError,
    records::{CallView, load_record, name_parent_of, open_artifact, record_document, view_call},
};
use wf_base::name::CallAddress;
use wf_report::{
    record::{RunRecord, show},
    rounds::rounds_table,
};

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
    pub run: RunArg,
    #[command(flatten)]
    print: PrintArgs,
    /// Write one JSON document
    #[arg(long, conflicts_with = "artifact")]
    pub json: bool,
    /// Show details of every re-planning round
    #[arg(long, conflicts_with_all = ["json", "artifact"])]
    rounds: bool,
    /// Show one call: `fix#1.3` is the third model call of the first attempt of `fix`, `fix#1.3.2` the second tool
    /// call in its reply, `fix#1.check.tests.1` the first call of the judge of a check
    #[arg(long, value_name = "CALL", conflicts_with_all = ["rounds", "artifact"])]
    call: Option<CallAddress>,
    /// Write the content of this artifact to standard output
    #[arg(long, value_name = "PATH")]
    pub artifact: Option<String>,
}

/// Shows a run.
pub fn run(ui: &Ui, args: &ShowArgs) -> Result<CliExitCode, CommandError> {
    let (state, run, ()) = open_run(ui, |state| Ok((args.run.resolve(state)?, ())))?;
    if let Some(address) = &args.call {
        let CallView { document, text } = view_call(&state, run, address)?;
        if args.json {
            ui.print_json(&format!("{document:#}\n"))?;
        } else {
            ui.print(&text)?;
        }
        return Ok(CliExitCode::Ok);
    }
    if let Some(path) = &args.artifact {
        return print_file(ui, open_artifact(&state, &run, path)?);
    }
    let record = load_record(&state, &run)?;
    if args.print.print_recorded(ui, run.short(), &record.run.outputs)? {
        return Ok(CliExitCode::Ok);
    }
    if args.rounds {
        return print_decisions(ui, &record);
    }
    if args.json {
        ui.print_json(&format!("{:#}\n", record_document(&state, &record)?))?;
    } else {
        let mut record = record;
        name_parent_of(&state, &mut record)?;
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

fn print_file(ui: &Ui, mut file: impl Read) -> Result<CliExitCode, CommandError> {
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
