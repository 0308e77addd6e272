use clap::{Args, Subcommand};

use super::{
    approve, import, install, list, lock, prompt, properties, remove, report, search, show, update, validate,
};
use crate::Ui;
use wf_app::{CliExitCode, CommandError};

#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct SkillCommandArgs {
    #[command(subcommand)]
    command: SkillCommand,
}

#[derive(Subcommand, Debug)]
enum SkillCommand {
    List(list::SkillListArgs),
    Show(show::SkillShowArgs),
    Search(search::SkillSearchArgs),
    Validate(validate::SkillValidateArgs),
    ReadProperties(properties::SkillPropertiesArgs),
    ToPrompt(prompt::SkillPromptArgs),
    Install(install::SkillInstallArgs),
    Import(import::SkillImportArgs),
    Update(update::SkillUpdateArgs),
    Remove(remove::SkillRemoveArgs),
    Lock(lock::SkillLockArgs),
    Approve(approve::SkillApproveArgs),
    Report(report::SkillReportArgs),
}

/// Runs the given subcommand.
pub fn run(ui: &Ui, args: &SkillCommandArgs) -> Result<CliExitCode, CommandError> {
    match &args.command {
        SkillCommand::List(args) => list::run(ui, args),
        SkillCommand::Show(args) => show::run(ui, args),
        SkillCommand::Search(args) => search::run(ui, args),
        SkillCommand::Validate(args) => validate::run(ui, args),
        SkillCommand::ReadProperties(args) => properties::run(ui, args),
        SkillCommand::ToPrompt(args) => prompt::run(ui, args),
        SkillCommand::Install(args) => install::run(ui, args),
        SkillCommand::Import(args) => import::run(ui, args),
        SkillCommand::Update(args) => update::run(ui, args),
        SkillCommand::Remove(args) => remove::run(ui, args),
        SkillCommand::Lock(args) => lock::run(ui, args),
        SkillCommand::Approve(args) => approve::run(ui, args),
        SkillCommand::Report(args) => report::run(ui, args),
    }
}
