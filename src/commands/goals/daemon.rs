use std::{net::SocketAddr, time::Duration};

use clap::{Args, ValueEnum};

use crate::{
    Ui,
    commands::looking::serve::{SiteArgs, open_workspaces, serve_in_background, workspace_words},
};
use wf_app::{
    CliExitCode, CommandError,
    daemon::{self, DaemonOptions, DaemonWorkspace, end_with_parent, run_several},
    daemon_io::{
        health,
        systemd::{ServiceOwner, UnitFile},
    },
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
  wf daemon --serve --workspace ~/shop --workspace lab=/srv/laboratory
                                       the goals and the pages of several workspaces
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
    /// Folder of a workspace, as FOLDER or NAME=FOLDER, instead of the one here; repeat it for several. Each has a
    /// daemon of its own below this process, which waits where another one is active
    #[arg(long = "workspace", value_name = "FOLDER", requires = "serve", conflicts_with = "health")]
    workspaces: Vec<String>,
    #[command(flatten)]
    site: SiteArgs,
    /// Exit when the process with this id, which started this one, ends
    #[arg(long, value_name = "PID", hide = true)]
    parent: Option<u32>,
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
    if let Some(parent) = args.parent {
        end_with_parent(parent)?;
    }
    // A mistake in them is said at once, not when the daemon leads.
    let site = args.serve.then(|| args.site.options(ui)).transpose()?;
    let served = match site {
        Some(site) => Some((open_workspaces(ui, &args.workspaces)?, site)),
        None => None,
    };
    let serve = || {
        if let Some((workspaces, site)) = &served {
            let origin = serve_in_background(workspaces.clone(), site.clone())?;
            ui.print_info(&format!("the pages are at {origin}; for a link: wf serve link\n"));
        }
        Ok(())
    };
    match &served {
        Some((workspaces, _)) if !args.workspaces.is_empty() => {
            let workspaces = workspaces.iter().map(|workspace| DaemonWorkspace {
                name: workspace.name.clone(),
                host: workspace.host.clone(),
            });
            run_several(ui, &workspaces.collect::<Vec<_>>(), &words_of_each(ui, args), args.drain, &serve)
        }
        _ => daemon::run(ui, options(args), &serve),
    }
}

fn options(args: &DaemonArgs) -> DaemonOptions {
    DaemonOptions {
        branch: args.branch.clone(),
        health: args.health,
        standby: args.standby,
        jobs: args.jobs as usize,
        drain: args.drain,
        once: args.once,
    }
}

/// Returns the words of the command line of the daemon of each workspace. Each waits until it may lead: a daemon that leads there
/// takes nothing from the others.
fn words_of_each(ui: &Ui, args: &DaemonArgs) -> Vec<String> {
    let mut words: Vec<String> = ui.is_quiet().then(|| "--quiet".to_owned()).into_iter().collect();
    words.extend(["daemon".to_owned(), "--standby".to_owned()]);
    words.extend(own_words(args));
    words
}

/// Returns the words of the options of a daemon, without those about pages.
fn own_words(args: &DaemonArgs) -> Vec<String> {
    let jobs = (args.jobs != DEFAULT_JOBS).then(|| args.jobs.to_string());
    let drain = (args.drain != DEFAULT_DRAIN).then(|| format_duration(args.drain));
    let options = [("--branch", args.branch.clone()), ("--jobs", jobs), ("--drain", drain)];
    let given = options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
    given.flatten().collect()
}

/// Prints a unit file for the daemon with the options of this command line.
fn unit(ui: &Ui, args: &DaemonArgs, unit_owner: UnitOwnerArg) -> Result<CliExitCode, CommandError> {
    let bad = |reason: String| CommandError::new(CliExitCode::Usage, reason);
    let program = std::env::current_exe().map_err(|error| bad(error.to_string()))?;
    let mut words = vec!["daemon".to_owned()];
    words.extend(own_words(args));
    if let Some(health) = &args.health {
        words.extend(["--health".to_owned(), health.to_string()]);
    }
    if args.standby {
        words.push("--standby".to_owned());
    }
    if args.serve {
        words.push("--serve".to_owned());
        words.extend(workspace_words(ui, &args.workspaces));
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
