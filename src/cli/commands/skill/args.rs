use clap::{Args, Subcommand};

use super::{
    approve, import, install, list, lock, prompt, properties, remove, report, search, show, update,
    validate,
};
use crate::cli::{Exit, Failure, Ui};

#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct SkillArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Search(search::SearchArgs),
    Validate(validate::ValidateArgs),
    ReadProperties(properties::PropertiesArgs),
    ToPrompt(prompt::PromptArgs),
    Install(install::InstallArgs),
    Import(import::ImportArgs),
    Update(update::UpdateArgs),
    Remove(remove::RemoveArgs),
    Lock(lock::LockArgs),
    Approve(approve::ApproveArgs),
    Report(report::ReportArgs),
}

/// Does what is asked for.
pub fn run(ui: &Ui, args: &SkillArgs) -> Result<Exit, Failure> {
    match &args.what {
        What::List(args) => list::run(ui, args),
        What::Show(args) => show::run(ui, args),
        What::Search(args) => search::run(ui, args),
        What::Validate(args) => validate::run(ui, args),
        What::ReadProperties(args) => properties::run(ui, args),
        What::ToPrompt(args) => prompt::run(ui, args),
        What::Install(args) => install::run(ui, args),
        What::Import(args) => import::run(ui, args),
        What::Update(args) => update::run(ui, args),
        What::Remove(args) => remove::run(ui, args),
        What::Lock(args) => lock::run(ui, args),
        What::Approve(args) => approve::run(ui, args),
        What::Report(args) => report::run(ui, args),
    }
}
