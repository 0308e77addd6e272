use clap::Args;

use super::update::not_locked;
use crate::cli::skills::study::study;
use crate::cli::skills::{fetch, locks, tell};
use crate::cli::{Exit, Failure, Ui};
use crate::skill::inspect::report_text;

/// Show the install report of a locked skill
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// The skill
    #[arg(value_name = "NAME")]
    name: String,
    /// Write the report as it was digested
    #[arg(long)]
    json: bool,
}

/// Makes the report anew from the files, and says whether it is the one that was signed.
pub fn run(ui: &Ui, args: &ReportArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let lock = locks::read(&workspace)?;
    let locked = lock
        .skills
        .get(&args.name)
        .ok_or_else(|| not_locked(&args.name))?;
    let studied = study(
        &args.name,
        fetch::read(&workspace.root.join(&locked.folder))?,
    );
    if args.json {
        ui.print_json(&report_text(&studied.report))?;
    } else {
        ui.print(&(tell::summary(&studied) + &tell::findings(&studied)))?;
    }
    if studied.report_digest() == locked.report {
        return Ok(Exit::Ok);
    }
    let message =
        "this is not the report that was signed: files were changed, or this wf has other rules";
    Err(Failure::new(Exit::Approval, message)
        .hint(format!("wf skill lock {} looks at it anew", args.name)))
}
