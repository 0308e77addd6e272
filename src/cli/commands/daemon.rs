use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::cli::daemon::{self, Service};
use crate::cli::{Exit, Failure, Ui};
use crate::service::health;
use crate::service::systemd::{Owner, Unit};
use crate::time::{format_duration, parse_duration};

/// How many cycles run at once, if nobody says it.
const JOBS: u32 = 8;

/// After which silence of a daemon systemd starts it again: longer than the store waits for a lock.
const SILENCE: Duration = Duration::from_mins(2);

/// How long a daemon waits for cycles when it is to end, if nobody says it.
const DRAIN: Duration = Duration::from_secs(30);

#[derive(Args, Debug)]
#[command(after_help = "\
Looks at each goal when it is due, and repairs it within what was approved. Every due slot ends as
started, skipped or missed, with a reason: `wf goal history GOAL`. Changed files are taken up at
once; with --branch, only what was committed there. docs/daemon.md describes it.

Examples:
  wf daemon                            in the foreground, until Ctrl-C
  wf daemon --branch main --health 127.0.0.1:7391
  wf daemon --once                     what is due now, and what was missed; then end
  wf daemon --unit user > ~/.config/systemd/user/wf.service")]
pub struct DaemonArgs {
    /// Run goals only as they were committed on this branch
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// Answer /healthz, /readyz and /metrics at this address of this machine
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    health: Option<SocketAddr>,
    /// If another daemon leads, wait until it ends instead of refusing
    #[arg(long)]
    standby: bool,
    /// How many cycles run at once
    #[arg(short = 'j', long = "jobs", value_name = "N", default_value_t = JOBS, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: u32,
    /// How long it waits for cycles when it is to end; what still goes on is adopted by the next
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = period)]
    drain: Duration,
    /// Look once, wait for the cycles that begin, and end
    #[arg(long, conflicts_with_all = ["health", "standby"])]
    once: bool,
    /// Print a unit file for systemd, and do nothing else
    #[arg(long, value_name = "WHOSE")]
    unit: Option<Whose>,
}

/// Whose service a unit file is for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Whose {
    /// Yours, for ~/.config/systemd/user
    User,
    /// The machine's, for /etc/systemd/system; it runs as you
    System,
}

fn period(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|bad| bad.to_string())
}

fn address(text: &str) -> Result<SocketAddr, String> {
    health::address(text).map_err(|bad| bad.to_string())
}

/// Keeps goals true.
pub fn run(ui: &Ui, args: &DaemonArgs) -> Result<Exit, Failure> {
    if let Some(whose) = args.unit {
        return unit(ui, args, whose);
    }
    daemon::run(
        ui,
        Service {
            branch: args.branch.clone(),
            health: args.health,
            standby: args.standby,
            jobs: args.jobs as usize,
            drain: args.drain,
            once: args.once,
        },
    )
}

/// Prints a unit file that starts what this command line asks for.
fn unit(ui: &Ui, args: &DaemonArgs, whose: Whose) -> Result<Exit, Failure> {
    let bad = |why: String| Failure::new(Exit::Usage, why);
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
    if args.jobs != JOBS {
        words.extend(["--jobs".to_owned(), args.jobs.to_string()]);
    }
    if args.drain != DRAIN {
        words.extend(["--drain".to_owned(), format_duration(args.drain)]);
    }
    let owner = match whose {
        Whose::User => Owner::User,
        Whose::System => Owner::System {
            user: ui.env.var("USER").unwrap_or("root").to_owned(),
        },
    };
    let unit = Unit {
        program,
        args: words,
        workspace: ui.workspace().root,
        owner,
        path: ui.env.var("PATH").map(str::to_owned),
        systemd: None,
        watchdog: SILENCE,
        drain: args.drain,
    };
    ui.print(&unit.text().map_err(|wrong| bad(wrong.to_string()))?)?;
    Ok(Exit::Ok)
}
