use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::later::Later;
use super::{Exit, commands};

/// Runs workflows written as Markdown files, and says what was proved.
#[derive(Parser, Debug)]
#[command(
    name = "wf",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = after()
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// How to speak, and where the state is.
    #[command(flatten)]
    pub global: Global,
}

/// What stands below the help: where to begin, and the exit codes.
fn after() -> String {
    let code = |exit: Exit| format!("  {:<4} {}\n", exit.code(), exit.meaning());
    let codes: String = Exit::ALL.into_iter().map(code).collect();
    format!("Begin with `wf init`, then `wf run workflows/hello.md`.\n\nExit codes:\n{codes}")
}

/// Options that every command takes.
#[derive(Args, Clone, Debug)]
pub struct Global {
    /// The folder that holds the state, instead of .wf in the workspace
    #[arg(
        long,
        value_name = "DIR",
        global = true,
        help_heading = "Global options"
    )]
    pub state: Option<PathBuf>,
    /// Change to this folder first, as if wf was started there
    #[arg(
        short = 'C',
        value_name = "DIR",
        global = true,
        help_heading = "Global options"
    )]
    pub start_dir: Option<PathBuf>,
    /// When to use colours
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        global = true,
        help_heading = "Global options"
    )]
    pub color: When,
    /// Say only what failed, and the end
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub quiet: bool,
    /// Say more: what steps print, and when they begin
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "quiet",
        help_heading = "Global options"
    )]
    pub verbose: bool,
}

/// When to do something that depends on who watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// When a terminal shows it.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Begin a workspace: a configuration, a first plan and gates
    Init(Later<commands::init::InitArgs>),
    /// Check plans, gates and skills without running them
    Check(Later<commands::check::CheckArgs>),
    /// Run a plan
    Run(Later<commands::run::RunArgs>),
    /// Go on with a run that was interrupted
    Resume(Later<commands::resume::ResumeArgs>),
    /// Run a plan again, keeping what succeeded
    Retry(Later<commands::retry::RetryArgs>),
    /// Cancel a run: its steps are asked to end, its `finally` steps run
    Cancel(Later<commands::cancel::CancelArgs>),
    /// Refuse what a run asks for
    Deny(Later<commands::deny::DenyArgs>),
    /// List the plans and goals of this workspace, with their ids
    List(Later<commands::list::ListArgs>),
    /// List the runs of this workspace, newest first
    Runs(Later<commands::runs::RunsArgs>),
    /// Show a run: its steps, their checks, its artifacts
    Show(Later<commands::show::ShowArgs>),
    /// Show what steps printed
    Logs(Later<commands::logs::LogsArgs>),
    /// Explain why a step ran, failed, was repeated, skipped or reused
    Why(Later<commands::why::WhyArgs>),
    /// Check again whether what a run says still holds
    Verify(Later<commands::verify::VerifyArgs>),
    /// Say what a run proved, signed, so that others can check it
    Attest(Later<commands::attest::AttestArgs>),
    /// Look at a plan or at what a run asks, and let it go on
    Approve(Later<commands::approve::ApproveArgs>),
    /// Make, show and revoke the keys that sign approvals
    Key(Later<commands::key::KeyArgs>),
    /// See what the auditor saw, and whether anybody changed the history
    Audit(Later<commands::audit::AuditArgs>),
    /// See what runs found out for those to come, and correct it
    Memory(Later<commands::memory::MemoryArgs>),
    /// Look at goals: what is kept true on a schedule
    Goal(Later<commands::goal::GoalArgs>),
    /// Set up and look after accounts at services, by the scripts of skills
    Connection(Later<commands::connection::ConnectionArgs>),
    /// Keep the goals of this workspace true
    Daemon(Later<commands::daemon::DaemonArgs>),
    /// Try out what would happen, without doing it
    Sim(Later<commands::sim::SimArgs>),
    /// Look at skills, install and approve them: folders with a SKILL.md
    Skill(Later<commands::skill::SkillArgs>),
    /// Draw a plan
    Graph(Later<commands::graph::GraphArgs>),
    /// Look at gates, and ask one
    Gate(Later<commands::gate::GateArgs>),
    /// Compare what two versions of a plan mean
    Diff(Later<commands::diff::DiffArgs>),
    /// Look at how the next round is decided
    Replan(Later<commands::replan::ReplanArgs>),
    /// Write a JSON Schema, for editors and other programs
    Schema(Later<commands::schema::SchemaArgs>),
    /// Copy the state into one file, also while runs go on
    Backup(Later<commands::backup::BackupArgs>),
    /// Put a backup in the place of the state
    Restore(Later<commands::restore::RestoreArgs>),
    /// Say whether everything that `wf` needs is there and well
    Doctor(Later<commands::doctor::DoctorArgs>),
    /// Write completions for a shell
    Completions(Later<commands::completions::CompletionsArgs>),
}

#[cfg(test)]
mod tests;
