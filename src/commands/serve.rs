use std::convert::Infallible;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use crate::Ui;
use wf_app::{CliExitCode, CommandError};
use wf_web::{SiteAddress, WebServer};

/// The default address.
const DEFAULT_LISTEN: &str = "localhost:8420";

#[derive(Args, Debug)]
#[command(after_help = "\
Prints a link that lets one browser in. The pages show runs as they go, requests that wait for people,
and goals with their slots. Requests are answered with a key of the browser: see `wf key enrol`. Other
machines reach the pages through a proxy with TLS only. See docs/web.md.

Examples:
  wf serve                             http://localhost:8420, until Ctrl-C
  wf serve --listen localhost:0        at any free port
  wf serve --public-url https://wf.example.org")]
pub struct ServeArgs {
    /// Local address to listen at
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_LISTEN)]
    listen: String,
    /// Address of the proxy through which browsers reach the pages
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
}

/// Serves the pages of a workspace until it is asked to exit.
pub fn run(ui: &Ui, args: &ServeArgs) -> Result<CliExitCode, CommandError> {
    let address = SiteAddress::parse(&args.listen, args.public_url.as_deref())
        .map_err(|error| CommandError::new(CliExitCode::Usage, error.to_string()))?;
    let system = |error: std::io::Error| CommandError::new(CliExitCode::State, error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
    let served = runtime.block_on(serve(ui, address));
    // A view that is being read is not waited for.
    runtime.shutdown_background();
    served
}

async fn serve(ui: &Ui, address: SiteAddress) -> Result<CliExitCode, CommandError> {
    let failed = |reason: String| CommandError::new(CliExitCode::State, reason);
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| failed(error.to_string()))?;
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| failed(error.to_string()))?;
    let server = WebServer::bind(ui.host.clone(), address).await.map_err(|error| {
        CommandError::new(CliExitCode::Usage, error.to_string())
            .hint("use another address: wf serve --listen localhost:0")
    })?;
    let link = server.add_link().map_err(|error| failed(error.to_string()))?;
    ui.print(&format!("{link}\n"))?;
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
