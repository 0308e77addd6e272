use clap::Args;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    skills::{fetch, inspect_skill, locks, tell},
};
use wf_skill::inspect::report_text;

/// Show the install report of a locked skill
#[derive(Args, Debug)]
pub struct SkillReportArgs {
    /// Name of the skill
    #[arg(value_name = "NAME")]
    name: String,
    /// Print the report exactly as it was digested
    #[arg(long)]
    json: bool,
}

/// Recreates the report from the files, and compares it with the signed one.
pub fn run(ui: &Ui, args: &SkillReportArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let lock = locks::read_lock(&workspace)?;
    let locked = lock.skills.get(&args.name).ok_or_else(|| locks::not_locked(&args.name))?;
    let studied = inspect_skill(&args.name, fetch::read_folder(&workspace.root.join(&locked.folder))?);
    if args.json {
        ui.print_json(&report_text(&studied.report))?;
    } else {
        ui.print(&(tell::summary(&studied) + &tell::findings(&studied)))?;
    }
    if studied.report_digest() == locked.report {
        return Ok(CliExitCode::Ok);
    }
    let message =
        "this differs from the signed report: files were changed, or this version of wf has other rules";
    Err(CommandError::new(CliExitCode::Approval, message)
        .hint(format!("review it again: wf skill lock {}", args.name)))
}
