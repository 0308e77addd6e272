use std::convert::Infallible;

use clap::{Args, Subcommand, ValueEnum};
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
};

use super::{open, qr::link_code, site::SiteArgs, workspaces};
use crate::Ui;
use wf_app::{CliExitCode, CommandError, keys::default_key_name};
use wf_web::{BindError, LinkError, LoginAccess, NamedWorkspace, SiteOptions, WebServer};

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
  wf serve --workspace ../shop --workspace lab=/srv/laboratory   several, at one address
  wf serve link --for ada --may look   a link for another browser, while it runs")]
#[command(args_conflicts_with_subcommands = true)]
pub struct ServeArgs {
    #[command(subcommand)]
    command: Option<ServeCommand>,
    /// Folder of a workspace to serve, as FOLDER or NAME=FOLDER, instead of the one here; repeat it for
    /// several, with one login for all
    #[arg(long = "workspace", value_name = "FOLDER")]
    workspaces: Vec<String>,
    #[command(flatten)]
    site: SiteArgs,
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
    /// Print the link as a QR code, too, for the camera of a phone
    #[arg(long, conflicts_with = "token")]
    qr: bool,
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

/// Serves the pages of workspaces until it is asked to exit.
pub fn run(ui: &Ui, args: &ServeArgs) -> Result<CliExitCode, CommandError> {
    if let Some(ServeCommand::Link(args)) = &args.command {
        return print_link(ui, args);
    }
    let options = args.site.options(ui)?;
    let workspaces = workspaces::open(ui, &args.workspaces)?;
    let runtime = server_runtime()?;
    let served = runtime.block_on(serve(ui, workspaces, options, !args.no_open));
    // A view that is being read is not waited for.
    runtime.shutdown_background();
    served
}

/// Serves the pages of workspaces in a thread of their own until the process ends, and returns their address.
pub fn serve_in_background(
    workspaces: Vec<NamedWorkspace>,
    options: SiteOptions,
) -> Result<String, CommandError> {
    let runtime = server_runtime()?;
    let server = runtime
        .block_on(WebServer::bind_all(workspaces, options))
        .map_err(|error| bind_failure(&error, "wf daemon --serve"))?;
    let origin = server.origin();
    #[expect(clippy::disallowed_methods, reason = "the pages answer while the daemon waits for the ledger")]
    std::thread::spawn(move || never(runtime.block_on(server.serve())));
    Ok(origin)
}

fn server_runtime() -> Result<Runtime, CommandError> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| CommandError::new(CliExitCode::State, error.to_string()))
}

fn bind_failure(error: &BindError, command: &str) -> CommandError {
    CommandError::new(CliExitCode::Usage, error.to_string())
        .hint(format!("use another address: {command} --listen localhost:0"))
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
    let code = if args.qr { link_code(&link)? } else { String::new() };
    ui.print(&format!("{code}{link}\n"))?;
    ui.print_info("the link works once, within fifteen minutes, while the server runs\n");
    Ok(CliExitCode::Ok)
}

async fn serve(
    ui: &Ui,
    workspaces: Vec<NamedWorkspace>,
    options: SiteOptions,
    may_open: bool,
) -> Result<CliExitCode, CommandError> {
    let failed = |reason: String| CommandError::new(CliExitCode::State, reason);
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| failed(error.to_string()))?;
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| failed(error.to_string()))?;
    let server =
        WebServer::bind_all(workspaces, options).await.map_err(|error| bind_failure(&error, "wf serve"))?;
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
