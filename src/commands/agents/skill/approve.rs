use clap::Args;

use crate::{Ui, skills::SkillSigningArgs};
use wf_app::{CliExitCode, CommandError, approve::SigningOptions, skills::approve_skill};

/// Review a locked skill in full, and sign an approval of it
#[derive(Args, Debug)]
pub struct SkillApproveArgs {
    /// Name of the skill
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    sign: SkillSigningArgs,
}

/// Runs the command.
pub fn run(ui: &Ui, args: &SkillApproveArgs) -> Result<CliExitCode, CommandError> {
    approve(ui, &args.name, &args.sign.options())
}

/// Shows a skill, asks, and adds a signature.
pub fn approve(ui: &Ui, name: &str, signing: &SigningOptions) -> Result<CliExitCode, CommandError> {
    let refusal = approve_skill(ui, name, signing, &|text| ui.print(text))?;
    ui.print(&match refusal {
        None => format!("approved {name}\n"),
        Some(refusal) => format!("signed {name}; not approved yet: {refusal}\n"),
    })?;
    Ok(CliExitCode::Ok)
}
