use std::backtrace::BacktraceStatus;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use super::args::{Cli, Command};
use super::failure::REPORT;
use super::ui::without_commands;
use super::{Env, Exit, Failure, Ui, commands, keep, must_be_text};
use crate::exec::sandbox;
use crate::untrusted::{plain, rendered, styled, untrusted};

/// Does what a command line asks for; this is the whole program.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    own_up();
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(ended) = sandbox::stage(&args).or_else(|| keep::keeper(&args)) {
        return ended;
    }
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(asked) => return answer(&asked),
    };
    let entered = cli.global.start_dir.as_deref().map_or(Ok(()), enter);
    let env = match entered.and_then(|()| Env::read()) {
        Ok(env) => env,
        Err(failure) => return refused(&failure),
    };
    let ui = Ui::new(env, &cli.global);
    match run(&ui, &cli.command) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            ui.say(&failure.render());
            failure.exit.into()
        }
    }
}

/// Changes to a folder, before anything is read.
fn enter(dir: &Path) -> Result<(), Failure> {
    let cannot = |error| {
        let message = format!(
            "-C {}: cannot change to this folder: {error}",
            dir.display()
        );
        Failure::new(Exit::Usage, message)
    };
    std::env::set_current_dir(dir).map_err(cannot)
}

fn run(ui: &Ui, command: &Command) -> Result<Exit, Failure> {
    // These two know nothing of a workspace.
    if !matches!(command, Command::Schema(_) | Command::Completions(_)) {
        let workspace = ui.workspace();
        must_be_text(&workspace.root)?;
        must_be_text(&workspace.state)?;
    }
    match command {
        Command::Init(args) => commands::init::run(ui, args),
        Command::Check(args) => commands::check::run(ui, args),
        Command::Run(args) => commands::run::run(ui, args),
        Command::Resume(args) => commands::resume::run(ui, args),
        Command::Retry(args) => commands::retry::run(ui, args),
        Command::Cancel(args) => commands::cancel::run(ui, args),
        Command::Deny(args) => commands::deny::run(ui, args),
        Command::List(args) => commands::list::run(ui, args),
        Command::Runs(args) => commands::runs::run(ui, args),
        Command::Show(args) => commands::show::run(ui, args),
        Command::Logs(args) => commands::logs::run(ui, args),
        Command::Why(args) => commands::why::run(ui, args),
        Command::Verify(args) => commands::verify::run(ui, args),
        Command::Attest(args) => commands::attest::run(ui, args),
        Command::Approve(args) => commands::approve::run(ui, args),
        Command::Key(args) => commands::key::run(ui, args),
        Command::Audit(args) => commands::audit::run(ui, args),
        Command::Memory(args) => commands::memory::run(ui, args),
        Command::Goal(args) => commands::goal::run(ui, args),
        Command::Skill(args) => commands::skill::run(ui, args),
        Command::Connection(args) => commands::connection::run(ui, args),
        Command::Daemon(args) => commands::daemon::run(ui, args),
        Command::Sim(args) => commands::sim::run(ui, args),
        Command::Graph(args) => commands::graph::run(ui, args),
        Command::Gate(args) => commands::gate::run(ui, args),
        Command::Diff(args) => commands::diff::run(ui, args),
        Command::Replan(args) => commands::replan::run(ui, args),
        Command::Schema(args) => commands::schema::run(ui, args),
        Command::Backup(args) => commands::backup::run(ui, args),
        Command::Restore(args) => commands::restore::run(ui, args),
        Command::Doctor(args) => commands::doctor::run(ui, args),
        Command::Completions(args) => commands::completions::run(ui, args),
    }
}

/// Help and versions are answers, everything else is a wrong command line.
fn answer(asked: &clap::Error) -> ExitCode {
    // Help is all of wf; a mistake quotes what was typed.
    let text = if asked.use_stderr() {
        one_line(asked.render().to_string())
    } else {
        rendered(&asked.render().ansi().to_string())
    };
    let text = safe(&text);
    if asked.use_stderr() {
        anstream::eprint!("{text}");
        Exit::Usage
    } else {
        anstream::print!("{text}");
        Exit::Ok
    }
    .into()
}

/// A mistake of the command line, which quotes arguments, without what styles them: each on one line.
fn one_line(mistake: String) -> String {
    let arguments = std::env::args_os().filter_map(|argument| argument.into_string().ok());
    arguments
        .filter(|argument| argument.contains('\n'))
        .flat_map(|argument| [plain(&argument), argument])
        .fold(mistake, |text, argument| {
            text.replace(&argument, &untrusted(&argument).to_string())
        })
}

fn refused(failure: &Failure) -> ExitCode {
    anstream::eprint!("{}", safe(&failure.render()));
    failure.exit.into()
}

/// What may be said before it is known where.
fn safe(text: &str) -> String {
    without_commands(&styled(text))
}

/// Makes a panic, in whichever thread, say that it is a mistake in `wf` and what to do about it,
/// and end the program: what is left of it can be relied on no more, and whoever goes on with the
/// run finds what was recorded, as after any other death. Nothing is unwound, so a release has no
/// tables for it.
#[expect(
    clippy::exit,
    reason = "nothing that is left can be relied on to return"
)]
fn own_up() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        let place = place.unwrap_or_else(|| "an unknown place".into());
        // A panic quotes values, which others may have written.
        let message = untrusted(panic.payload_as_str().unwrap_or("it says not why"));
        let trace = match std::backtrace::Backtrace::capture() {
            trace if trace.status() == BacktraceStatus::Captured => format!("{trace}\n"),
            _ => String::new(),
        };
        let text = format!(
            "wf made a mistake at {place}, and your run's record is safe: {message}\n{trace}{REPORT}\n"
        );
        anstream::eprint!("{}", safe(&text));
        std::process::exit(i32::from(Exit::Bug.code()));
    }));
}
