use std::{convert::Infallible, path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};

use super::open;
use crate::{Ui, actions::command_text};
use wf_app::{
    CliExitCode, CommandError,
    keys::{default_key_name, from_private_file},
    views::state_reader,
};
use wf_base::time::parse_duration;
use wf_web::{LinkError, LoginAccess, SiteAddress, SiteOptions, WebServer};

/// The default address.
const DEFAULT_LISTEN: &str = "localhost:8420";

#[derive(Args, Debug)]
#[command(after_help = "\
Prints a link that logs in one browser, and opens it on a desktop. The pages show runs in
progress, open requests, past activity, goals with their slots, memory, skills, connections and
the audit log. Requests are answered with a key of the browser or a passkey: see `wf key enrol`.
Other machines reach the pages through a proxy with TLS only. See docs/web.md.

Examples:
  wf serve                             http://localhost:8420, until Ctrl-C
  wf serve --listen localhost:0        at any free port
  wf serve --public-url https://wf.example.org
  wf serve link --for ada --may look   a link for another browser, while it runs")]
#[command(args_conflicts_with_subcommands = true)]
pub struct ServeArgs {
    #[command(subcommand)]
    command: Option<ServeCommand>,
    /// Local address to listen at
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_LISTEN)]
    listen: String,
    /// Address of the proxy through which browsers reach the pages
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// File with the token for /metrics, which only its owner can read
    #[arg(long, value_name = "FILE")]
    metrics_token: Option<PathBuf>,
    /// Time without an operation after which a browser may only look
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    operate_for: Option<Duration>,
    /// Do not open the pages in a browser of this desktop
    #[arg(long)]
    no_open: bool,
}

#[derive(Subcommand, Debug)]
enum ServeCommand {
    /// Print a link for another browser, while the server runs
    Link(LinkArgs),
}

#[derive(Args, Debug)]
struct LinkArgs {
    /// Access of the browser: `look` shows the pages, `operate` also has their buttons, `start` also
    /// starts runs
    #[arg(long, value_name = "ACCESS", default_value = "operate")]
    may: LinkAccess,
    /// Name of whoever it is for; the audit log has it
    #[arg(long = "for", value_name = "NAME")]
    name: Option<String>,
    /// Print a key for a program instead, as JSON: it sends `Authorization: Bearer KEY`
    #[arg(long)]
    token: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum LinkAccess {
    Look,
    Operate,
    Start,
}

impl LinkAccess {
    fn login(self) -> LoginAccess {
        match self {
            Self::Look => LoginAccess::Look,
            Self::Operate => LoginAccess::Operate,
            Self::Start => LoginAccess::Start,
        }
    }
}

/// Serves the pages of a workspace until it is asked to exit.
pub fn run(ui: &Ui, args: &ServeArgs) -> Result<CliExitCode, CommandError> {
    if let Some(ServeCommand::Link(args)) = &args.command {
        return print_link(ui, args);
    }
    let address = SiteAddress::parse(&args.listen, args.public_url.as_deref())
        .map_err(|error| CommandError::new(CliExitCode::Usage, error.to_string()))?;
    let token = args.metrics_token.as_deref().map(|path| from_private_file(&ui.host, path)).transpose()?;
    if token.as_ref().is_some_and(String::is_empty) {
        return Err(CommandError::new(CliExitCode::Usage, "the token for /metrics is empty"));
    }
    // A state that cannot be read is reported here: no page could be shown.
    state_reader(ui)?;
    let options = SiteOptions {
        address,
        metrics_token: token,
        operate_for: args.operate_for,
        action_words: command_text,
    };
    let system = |error: std::io::Error| CommandError::new(CliExitCode::State, error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
    let served = runtime.block_on(serve(ui, options, !args.no_open));
    // A view that is being read is not waited for.
    runtime.shutdown_background();
    served
}

/// Prints a link to the pages that another process serves, or a key for a program.
fn print_link(ui: &Ui, args: &LinkArgs) -> Result<CliExitCode, CommandError> {
    let access = args.may.login();
    let name = args.name.clone().unwrap_or_else(|| default_key_name(&ui.host));
    let unserved = || {
        let reason = "no server of this workspace answers, or its logins cannot be written";
        CommandError::new(CliExitCode::State, reason).hint("start one: wf serve")
    };
    let failed = |error: LinkError| CommandError::new(CliExitCode::State, error.to_string());
    if args.token {
        let token = wf_web::add_token(&ui.host, access, &name).map_err(failed)?.ok_or_else(unserved)?;
        ui.print(&format!("{}\n", serde_json::json!(token)))?;
        return Ok(CliExitCode::Ok);
    }
    let link = wf_web::add_link(&ui.host, access, &name).map_err(failed)?.ok_or_else(unserved)?;
    ui.print(&format!("{link}\n"))?;
    ui.print_info("the link works once, within fifteen minutes, while the server runs\n");
    Ok(CliExitCode::Ok)
}

async fn serve(ui: &Ui, options: SiteOptions, may_open: bool) -> Result<CliExitCode, CommandError> {
    let failed = |reason: String| CommandError::new(CliExitCode::State, reason);
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| failed(error.to_string()))?;
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| failed(error.to_string()))?;
    let server = WebServer::bind(ui.host.clone(), options).await.map_err(|error| {
        CommandError::new(CliExitCode::Usage, error.to_string())
            .hint("use another address: wf serve --listen localhost:0")
    })?;
    let link = server.add_link().map_err(|error| failed(error.to_string()))?;
    ui.print(&format!("{link}\n"))?;
    // The file is there until the server ends, or until the browser has had time to read it.
    let _redirect = if may_open { open::open_link(ui, &link) } else { None };
    ui.print_info("the link works once, within fifteen minutes · Ctrl-C ends the server\n");
    let served = async { never(server.serve().await) };
    tokio::select! {
        exit = served => Ok(exit),
        _ = interrupt.recv() => Ok(CliExitCode::Ok),
        _ = terminate.recv() => Ok(CliExitCode::Ok),
    }
}

fn never(none: Infallible) -> CliExitCode {
    match none {}
}
