use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::{commands, later::LazyArgs, server::ServerArgs};
use wf_app::CliExitCode;
use wf_base::program;

/// Runs workflows written as Markdown files and keeps an audit trail of what was verified.
#[derive(Parser, Debug)]
#[command(
    name = "wf",
    version = program::version(),
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = after()
)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: CliCommand,
    /// The options for output and for the location of the state.
    #[command(flatten)]
    pub global: GlobalArgs,
}

/// Returns the text below the help: the first steps, and the exit codes.
fn after() -> String {
    let code = |exit: CliExitCode| format!("  {:<4} {}\n", exit.code(), exit.meaning());
    let codes: String = CliExitCode::ALL.into_iter().map(code).collect();
    format!("Start with `wf init`, then `wf run workflows/hello.md`.\n\nExit codes:\n{codes}")
}

/// Options shared by all commands.
#[derive(Args, Clone, Debug)]
pub struct GlobalArgs {
    /// State directory, instead of .wf in the workspace
    #[arg(long, value_name = "DIR", global = true, help_heading = "Global options")]
    pub state: Option<PathBuf>,
    /// Change to this directory before doing anything
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = "Global options")]
    pub start_dir: Option<PathBuf>,
    /// Colour mode of the output
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true, help_heading = "Global options")]
    pub color: ColorMode,
    /// Only print failures and the final summary
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub quiet: bool,
    /// Also print the output of steps, and when they start
    #[arg(short, long, global = true, conflicts_with = "quiet", help_heading = "Global options")]
    pub verbose: bool,
    /// Begin each line with the time, and with the goal that the process works for
    #[arg(long, value_name = "GOAL", global = true, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub service_log: Option<String>,
    #[command(flatten)]
    pub elsewhere: ServerArgs,
}

/// A mode for effects of a terminal as the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorMode {
    /// If the output is a terminal.
    #[default]
    Auto,
    /// Colours, wherever the output goes.
    Always,
    /// No colours.
    Never,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum CliCommand {
    /// Create a workspace: a configuration, a first plan and gates
    Init(LazyArgs<commands::running::init::InitArgs>),
    /// Check plans, gates and skills without running them
    Check(LazyArgs<commands::running::check::CheckArgs>),
    /// Write or revise a plan with a model
    Plan(LazyArgs<commands::running::plan::PlanArgs>),
    /// Convert the files of other systems to plans
    Import(LazyArgs<commands::running::import::ImportArgs>),
    /// Run a plan
    Run(LazyArgs<commands::running::run::RunArgs>),
    /// Resume an interrupted run
    Resume(LazyArgs<commands::running::resume::ResumeArgs>),
    /// Run a plan again, reusing the results that succeeded
    Retry(LazyArgs<commands::running::retry::RetryArgs>),
    /// Repeat a run with the recorded replies of its models, and compare the events
    Replay(LazyArgs<commands::running::replay::ReplayArgs>),
    /// Undo a run with the plan that its plan names in `undo`
    Undo(LazyArgs<commands::running::undo::UndoArgs>),
    /// List, accept and dismiss the suggestions of runs
    Suggestion(LazyArgs<commands::running::suggestion::SuggestionArgs>),
    /// Cancel a run: its steps receive SIGTERM, and its `finally` steps run
    Cancel(LazyArgs<commands::running::cancel::CancelArgs>),
    /// Answer the question of an agent
    Answer(LazyArgs<commands::trust::answer::AnswerCommandArgs>),
    /// Reject a waiting run
    Deny(LazyArgs<commands::trust::deny::DenyArgs>),
    /// List the plans and goals of this workspace, with their ids
    List(LazyArgs<commands::looking::list::ListArgs>),
    /// List the runs of this workspace, newest first
    Runs(LazyArgs<commands::looking::runs::RunsArgs>),
    /// Show a run: its steps, their checks, its artifacts
    Show(LazyArgs<commands::looking::show::ShowArgs>),
    /// Show the output of steps
    Logs(LazyArgs<commands::looking::logs::LogsArgs>),
    /// Follow a run on the whole terminal: its steps, their output and its graph
    Watch(LazyArgs<commands::looking::watch::WatchArgs>),
    /// Explain why a step ran, failed, was repeated, skipped or reused
    Why(LazyArgs<commands::looking::why::WhyArgs>),
    /// Run the checks of a run again and look for stale evidence
    Verify(LazyArgs<commands::trust::verify::VerifyArgs>),
    /// Write a signed attestation of what a run verified
    Attest(LazyArgs<commands::trust::attest::AttestArgs>),
    /// List what waits for you
    Inbox(LazyArgs<commands::trust::inbox::InboxArgs>),
    /// Review and approve a plan or a waiting run
    Approve(LazyArgs<commands::trust::approve::ApproveArgs>),
    /// Create, show and revoke the keys that sign approvals
    Key(LazyArgs<commands::trust::key::KeyArgs>),
    /// Inspect the audit log and verify that the history was not altered
    Audit(LazyArgs<commands::trust::audit::AuditArgs>),
    /// Inspect and edit memory shared across runs
    Memory(LazyArgs<commands::agents::memory::MemoryArgs>),
    /// Separate lines of work, suspend and resume them
    Session(LazyArgs<commands::agents::session::SessionArgs>),
    /// Manage goals (scheduled desired-state checks)
    Goal(LazyArgs<commands::goals::goal::GoalArgs>),
    /// Show pending work and dead letters, and requeue them
    Queue(LazyArgs<commands::goals::queue::QueueArgs>),
    /// Set up and maintain accounts at services, using the scripts of skills
    Connection(LazyArgs<commands::agents::connection::ConnectionArgs>),
    /// Run the scheduler for this workspace's goals
    Daemon(LazyArgs<commands::goals::daemon::DaemonArgs>),
    /// Serve pages of this workspace to a browser
    Serve(LazyArgs<commands::looking::serve::ServeArgs>),
    /// Serve this workspace to coding agents (Model Context Protocol)
    Mcp(LazyArgs<commands::agents::mcp::McpArgs>),
    /// Inspect, install and approve skills (folders with a SKILL.md)
    Skill(LazyArgs<commands::agents::skill::SkillCommandArgs>),
    /// Draw a plan as a graph
    Graph(LazyArgs<commands::looking::graph::GraphArgs>),
    /// List gates and test them
    Gate(LazyArgs<commands::trust::gate::GateArgs>),
    /// Compare the meaning of two versions of a plan, or two runs
    Diff(LazyArgs<commands::looking::diff::DiffArgs>),
    /// Explain how re-planning decides on the next round
    #[command(hide = true)]
    Replan(LazyArgs<commands::looking::replan::ReplanArgs>),
    /// Write a JSON Schema for editors and other programs
    Schema(LazyArgs<commands::state::schema::SchemaArgs>),
    /// Copy the state into one file, also while runs are in progress
    Backup(LazyArgs<commands::state::backup::BackupArgs>),
    /// Restore state from a backup
    Restore(LazyArgs<commands::state::restore::RestoreArgs>),
    /// Check the environment (sandbox, shells, state, config)
    Doctor(LazyArgs<commands::state::doctor::DoctorArgs>),
    /// Write completions for a shell
    Completions(LazyArgs<commands::state::completions::CompletionsArgs>),
}

mod elsewhere;
mod groups;
#[cfg(test)]
mod tests;

pub use elsewhere::works_elsewhere;
pub use groups::parse;
