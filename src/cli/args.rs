use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::{Exit, commands};

/// Runs workflows written as Markdown files, and says what was proved.
#[derive(Parser, Debug)]
#[command(
    name = "wf",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
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
    Init(commands::init::InitArgs),
    Check(commands::check::CheckArgs),
    Run(commands::run::RunArgs),
    Resume(commands::resume::ResumeArgs),
    Retry(commands::retry::RetryArgs),
    Cancel(commands::cancel::CancelArgs),
    Deny(commands::deny::DenyArgs),
    Runs(commands::runs::RunsArgs),
    Show(commands::show::ShowArgs),
    Logs(commands::logs::LogsArgs),
    Why(commands::why::WhyArgs),
    Verify(commands::verify::VerifyArgs),
    Attest(commands::attest::AttestArgs),
    Approve(commands::approve::ApproveArgs),
    Key(commands::key::KeyArgs),
    Audit(commands::audit::AuditArgs),
    Memory(commands::memory::MemoryArgs),
    Goal(commands::goal::GoalArgs),
    Connection(commands::connection::ConnectionArgs),
    Daemon(commands::daemon::DaemonArgs),
    Sim(commands::sim::SimArgs),
    Skill(commands::skill::SkillArgs),
    Graph(commands::graph::GraphArgs),
    Gate(commands::gate::GateArgs),
    Diff(commands::diff::DiffArgs),
    Replan(commands::replan::ReplanArgs),
    Schema(commands::schema::SchemaArgs),
    Backup(commands::backup::BackupArgs),
    Restore(commands::restore::RestoreArgs),
    Doctor(commands::doctor::DoctorArgs),
    Completions(commands::completions::CompletionsArgs),
}
