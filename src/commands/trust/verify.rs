use clap::Args;
use serde_json::json;

use crate::{RunArg, Ui};
use wf_app::{
    CliExitCode, CommandError,
    records::{VerifiedRun, verify_run},
};
use wf_base::untrusted::{BAD, paint};
use wf_report::record::findings;

#[derive(Args, Debug)]
#[command(after_help = "\
Verifies every checked result: whether its files are unchanged, whether the files of its checks
are the same as when the run started, and whether its checks pass now. Also compares the logs of a
run that has ended with their digests. Works at any time, during a run or long after it. Nothing is
recorded.

Exit code 0 if at least one result was verified, all of those still pass and are fresh, and no log
was removed or altered.

Examples:
  wf verify --last                  the latest run
  wf verify 1a2b --step build       one step
  wf verify 1a2b --step 'test[2]'   one item
  wf verify 1a2b --json             for a program")]
pub struct VerifyArgs {
    #[command(flatten)]
    run: RunArg,
    /// Only this step or item: `build`, `test[2]` or `outer/inner`
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Verifies the results of a run again.
pub fn run(ui: &Ui, args: &VerifyArgs) -> Result<CliExitCode, CommandError> {
    let verified = verify_run(ui, args.run.prefix(), args.step.as_deref())?;
    if args.json {
        ui.print_json(&document(&verified))?;
    } else {
        ui.print(&findings(&verified.results, &verified.names))?;
        for log in &verified.damaged_logs {
            ui.print_line(&format!("{} {log}", paint(BAD, "damaged:")))?;
        }
    }
    Ok(if verified.holds() { CliExitCode::Ok } else { CliExitCode::RunFailed })
}

fn document(verified: &VerifiedRun) -> String {
    let VerifiedRun { run, results, damaged_logs, .. } = verified;
    let holds = verified.holds();
    let document =
        json!({ "v": 1, "run": run, "holds": holds, "results": results, "damaged_logs": damaged_logs });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}
