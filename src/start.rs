use std::{backtrace::BacktraceStatus, ffi::OsString, path::Path, process::ExitCode};

use super::{
    Ui,
    args::{CliCommand, parse},
    commands, server,
    ui::without_commands,
};
use crate::actions::command_text;
use wf_app::{Caller as _, CliExitCode, CommandError, Host, bug_report, keep, require_utf8, usage_error};
use wf_base::{
    program,
    untrusted::{plain, rendered, styled, untrusted},
};
use wf_exec::{agent_tool, sandbox};

/// Runs a command line; this is the whole program.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    install_panic_hook();
    program::set_commit(env!("WF_COMMIT"));
    let args: Vec<OsString> = args.into_iter().collect();
    let stage = sandbox::stage(&args).or_else(|| agent_tool::stage(&args));
    if let Some(ended) = stage.or_else(|| keep::run_supervisor(&args)) {
        return ended;
    }
    keep::restart_where_memory_is_limited(&args);
    let cli = match parse(args) {
        Ok(cli) => cli,
        Err(error) => return handle_clap_error(&error),
    };
    let entered = cli.global.start_dir.as_deref().map_or(Ok(()), change_dir);
    let host = match entered.and_then(|()| Host::read()) {
        Ok(host) => host,
        Err(error) => return report_error(&error),
    };
    let ui = Ui::new(host, &cli.global);
    let ui = if matches!(&cli.command, CliCommand::Daemon(args) if args.is_service()) {
        ui.with_times()
    } else {
        ui
    };
    let elsewhere = &cli.global.elsewhere;
    let done = match &elsewhere.server {
        Some(server) => server::run(&ui, server, elsewhere, &cli.command),
        None if elsewhere.server_key.is_some() => {
            Err(usage_error("--server-key is the key of a server, and none is named")
                .hint("name it, too: wf --server URL"))
        }
        None => run(&ui, &cli.command),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(error) => {
            ui.print_message(&ui.failure_text(&error));
            error.exit.into()
        }
    }
}

/// Changes to a folder, before anything is read.
fn change_dir(dir: &Path) -> Result<(), CommandError> {
    let cannot = |error| {
        let message = format!("-C {}: cannot change to this directory: {error}", dir.display());
        CommandError::new(CliExitCode::Usage, message)
    };
    std::env::set_current_dir(dir).map_err(cannot)
}

fn run(ui: &Ui, command: &CliCommand) -> Result<CliExitCode, CommandError> {
    // These two need no workspace.
    if !matches!(command, CliCommand::Schema(_) | CliCommand::Completions(_)) {
        let workspace = ui.host.workspace();
        require_utf8(&workspace.root)?;
        require_utf8(&workspace.state)?;
    }
    match command {
        CliCommand::Init(args) => commands::running::init::run(ui, args),
        CliCommand::Check(args) => commands::running::check::run(ui, args),
        CliCommand::Plan(args) => commands::running::plan::run(ui, args),
        CliCommand::Import(args) => commands::running::import::run(ui, args),
        CliCommand::Run(args) => commands::running::run::run(ui, args),
        CliCommand::Resume(args) => commands::running::resume::run(ui, args),
        CliCommand::Undo(args) => commands::running::undo::run(ui, args),
        CliCommand::Retry(args) => commands::running::retry::run(ui, args),
        CliCommand::Replay(args) => commands::running::replay::run(ui, args),
        CliCommand::Suggestion(args) => commands::running::suggestion::run(ui, args),
        CliCommand::Cancel(args) => commands::running::cancel::run(ui, args),
        CliCommand::Answer(args) => commands::trust::answer::run(ui, args),
        CliCommand::Deny(args) => commands::trust::deny::run(ui, args),
        CliCommand::List(args) => commands::looking::list::run(ui, args),
        CliCommand::Runs(args) => commands::looking::runs::run(ui, args),
        CliCommand::Show(args) => commands::looking::show::run(ui, args),
        CliCommand::Logs(args) => commands::looking::logs::run(ui, args),
        CliCommand::Watch(args) => commands::looking::watch::run(ui, args),
        CliCommand::Why(args) => commands::looking::why::run(ui, args),
        CliCommand::Verify(args) => commands::trust::verify::run(ui, args),
        CliCommand::Attest(args) => commands::trust::attest::run(ui, args),
        CliCommand::Inbox(args) => commands::trust::inbox::run(ui, args),
        CliCommand::Approve(args) => commands::trust::approve::run(ui, args),
        CliCommand::Key(args) => commands::trust::key::run(ui, args),
        CliCommand::Audit(args) => commands::trust::audit::run(ui, args),
        CliCommand::Memory(args) => commands::agents::memory::run(ui, args),
        CliCommand::Session(args) => commands::agents::session::run(ui, args),
        CliCommand::Queue(args) => commands::goals::queue::run(ui, args),
        CliCommand::Goal(args) => commands::goals::goal::run(ui, args),
        CliCommand::Skill(args) => commands::agents::skill::run(ui, args),
        CliCommand::Connection(args) => commands::agents::connection::run(ui, args),
        CliCommand::Daemon(args) => commands::goals::daemon::run(ui, args),
        CliCommand::Serve(args) => commands::looking::serve::run(ui, args),
        CliCommand::Mcp(args) => commands::agents::mcp::run(ui, args),
        CliCommand::Graph(args) => commands::looking::graph::run(ui, args),
        CliCommand::Gate(args) => commands::trust::gate::run(ui, args),
        CliCommand::Diff(args) => commands::looking::diff::run(ui, args),
        CliCommand::Replan(args) => commands::looking::replan::run(ui, args),
        CliCommand::Schema(args) => commands::state::schema::run(ui, args),
        CliCommand::Backup(args) => commands::state::backup::run(ui, args),
        CliCommand::Restore(args) => commands::state::restore::run(ui, args),
        CliCommand::Doctor(args) => commands::state::doctor::run(ui, args),
        CliCommand::Completions(args) => commands::state::completions::run(ui, args),
    }
}

/// Help and versions are answers, everything else is a wrong command line.
fn handle_clap_error(error: &clap::Error) -> ExitCode {
    // Help is all of wf; a mistake quotes what was typed.
    let text = if error.use_stderr() {
        one_line(error.render().to_string())
    } else {
        rendered(&error.render().ansi().to_string())
    };
    let text = sanitized(&text);
    if error.use_stderr() {
        anstream::eprint!("{text}");
        CliExitCode::Usage
    } else {
        anstream::print!("{text}");
        CliExitCode::Ok
    }
    .into()
}

/// An error of the command line, with quoted arguments, without styles: each on one line.
fn one_line(mistake: String) -> String {
    let arguments = std::env::args_os().filter_map(|argument| argument.into_string().ok());
    arguments
        .filter(|argument| argument.contains('\n'))
        .flat_map(|argument| [plain(&argument), argument])
        .fold(mistake, |text, argument| text.replace(&argument, &untrusted(&argument).to_string()))
}

fn report_error(error: &CommandError) -> ExitCode {
    anstream::eprint!("{}", sanitized(&error.render(&command_text)));
    error.exit.into()
}

/// A text safe to print before the kind of output is known.
fn sanitized(text: &str) -> String {
    without_commands(&styled(text))
}

/// Makes a panic, in any thread, report a bug in `wf` with its remedy, and exit
/// the program: the remaining state is not reliable, and the process that resumes the run finds the
/// record, as after any other death. Nothing is unwound, so a release has no tables for it.
#[expect(clippy::exit, reason = "nothing that is left can be relied on to return")]
fn install_panic_hook() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        let place = place.unwrap_or_else(|| "an unknown location".into());
        // A panic quotes values, which may be untrusted.
        let message = untrusted(panic.payload_as_str().unwrap_or("no message"));
        let trace = match std::backtrace::Backtrace::capture() {
            trace if trace.status() == BacktraceStatus::Captured => format!("{trace}\n"),
            _ => String::new(),
        };
        let advice = bug_report().render(&command_text);
        let text =
            format!("bug in wf at {place}: {message}; the record of your run is intact\n{trace}{advice}\n");
        anstream::eprint!("{}", sanitized(&text));
        std::process::exit(i32::from(CliExitCode::Bug.code()));
    }));
}
