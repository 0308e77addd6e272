use std::{net::SocketAddr, time::Duration};

use clap::{Args, ValueEnum};

use crate::{
    Ui,
    commands::looking::serve::{SiteArgs, serve_in_background},
};
use wf_app::{
    CliExitCode, CommandError,
    daemon::{self, DaemonOptions},
    daemon_io::{
        health,
        systemd::{ServiceOwner, UnitFile},
    },
    views::state_reader,
};
use wf_base::time::{format_duration, parse_duration};

/// The default number of concurrent reconciliations.
const DEFAULT_JOBS: u32 = 8;

/// The silence after which systemd restarts a daemon: longer than the store waits for a lock.
const WATCHDOG_TIMEOUT: Duration = Duration::from_mins(2);

/// The default time of a stopping daemon for its reconciliations.
const DEFAULT_DRAIN: Duration = Duration::from_secs(30);

#[derive(Args, Debug)]
#[command(after_help = "\
Checks each goal when it is due, and repairs it within the limits of its approval. Each scheduled
time is recorded as started, skipped or missed, with a reason: `wf goal history GOAL`. Changed
files are reloaded immediately; with --branch, only committed changes. See docs/daemon.md.

Examples:
  wf daemon                            in the foreground, until Ctrl-C
  wf daemon --branch main --health 127.0.0.1:7391
  wf daemon --serve                    with the pages of `wf serve`, in one process
  wf daemon --once                     run what is due or was missed, then exit
  wf daemon --unit user > ~/.config/systemd/user/wf.service")]
pub struct DaemonArgs {
    /// Run goals only as committed on this branch
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// Serve /healthz, /readyz and /metrics at this local address
    #[arg(long, value_name = "ADDRESS", value_parser = health::address)]
    health: Option<SocketAddr>,
    /// If another daemon is active, wait until it exits instead of failing
    #[arg(long)]
    standby: bool,
    /// Maximum number of concurrent reconciliations
    #[arg(short = 'j', long = "jobs", value_name = "N", default_value_t = DEFAULT_JOBS, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: u32,
    /// Time to wait for reconciliations on shutdown; the next daemon adopts unfinished ones
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    drain: Duration,
    /// Check once, wait for the reconciliations that start, and exit
    #[arg(long, conflicts_with_all = ["health", "standby"])]
    once: bool,
    /// Serve the pages as well, as long as it runs the goals; `wf serve link` prints a link to them
    #[arg(long, conflicts_with = "once")]
    serve: bool,
    #[command(flatten)]
    site: SiteArgs,
    /// Print a systemd unit file and exit
    #[arg(long, value_name = "WHOSE")]
    unit: Option<UnitOwnerArg>,
}

impl DaemonArgs {
    /// True if it runs a daemon, with lines for a log.
    pub fn is_service(&self) -> bool {
        self.unit.is_none()
    }
}

/// The owner of the service of a unit file.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum UnitOwnerArg {
    /// A user service, for ~/.config/systemd/user
    User,
    /// A system service, for /etc/systemd/system; it runs as you
    System,
}

/// Runs the daemon.
pub fn run(ui: &Ui, args: &DaemonArgs) -> Result<CliExitCode, CommandError> {
    if let Some(word) = args.site.words(ui).first().filter(|_| !args.serve) {
        let error =
            CommandError::new(CliExitCode::Usage, format!("{word} is about pages, and none are served"));
        return Err(error.hint("serve them: wf daemon --serve"));
    }
    if let Some(whose) = args.unit {
        return unit(ui, args, whose);
    }
    let options = DaemonOptions {
        branch: args.branch.clone(),
        health: args.health,
        standby: args.standby,
        jobs: args.jobs as usize,
        drain: args.drain,
        once: args.once,
    };
    // A mistake in them is said at once, not when the daemon leads.
    let site = args.serve.then(|| args.site.options(ui)).transpose()?;
    if site.is_some() {
        state_reader(ui)?;
    }
    daemon::run(ui, options, &|| {
        if let Some(site) = &site {
            let origin = serve_in_background(ui, site.clone())?;
            ui.print_info(&format!("the pages are at {origin}; for a link: wf serve link\n"));
        }
        Ok(())
    })
}

/// Prints a unit file for the daemon with the options of this command line.
fn unit(ui: &Ui, args: &DaemonArgs, unit_owner: UnitOwnerArg) -> Result<CliExitCode, CommandError> {
    let bad = |reason: String| CommandError::new(CliExitCode::Usage, reason);
    let program = std::env::current_exe().map_err(|error| bad(error.to_string()))?;
    let mut words = vec!["daemon".to_owned()];
    if let Some(branch) = &args.branch {
        words.extend(["--branch".to_owned(), branch.clone()]);
    }
    if let Some(health) = &args.health {
        words.extend(["--health".to_owned(), health.to_string()]);
    }
    if args.standby {
        words.push("--standby".to_owned());
    }
    if args.jobs != DEFAULT_JOBS {
        words.extend(["--jobs".to_owned(), args.jobs.to_string()]);
    }
    if args.drain != DEFAULT_DRAIN {
        words.extend(["--drain".to_owned(), format_duration(args.drain)]);
    }
    if args.serve {
        words.push("--serve".to_owned());
        words.extend(args.site.words(ui));
    }
    let owner = match unit_owner {
        UnitOwnerArg::User => ServiceOwner::User,
        UnitOwnerArg::System => {
            ServiceOwner::System { user: ui.host.var("USER").unwrap_or("root").to_owned() }
        }
    };
    let unit = UnitFile {
        program,
        args: words,
        workspace: ui.host.workspace().root,
        owner,
        path: ui.host.var("PATH").map(str::to_owned),
        systemd: None,
        watchdog: WATCHDOG_TIMEOUT,
        drain: args.drain,
    };
    ui.print(&unit.text().map_err(|error| bad(error.to_string()))?)?;
    Ok(CliExitCode::Ok)
}
