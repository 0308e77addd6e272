//! The cost of a long history: `cargo bench --bench history`.
//!
//! `wf` runs a small plan 10,000 times, at times that are spread over a year, in a workspace that keeps all runs. Then each command
//! is timed in turn there and in a workspace with one run. At last the default retention prunes three quarters of the runs, while
//! another process records a run of its own.
//!
//! `-- RUNS` makes another number of runs; `WF_HISTORY=FOLDER` keeps the workspaces there, and uses them again. The program must be
//! one that knows `WF_NOW`: of any profile but `release` and `dist`, so `--profile test`.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads the clock, starts programs and prints"
)]

#[expect(dead_code, reason = "the benchmark of pages uses more of it")]
#[path = "pages/client.rs"]
mod client;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use client::{PROGRAM, PageConnection, PageServer};
use jiff::{SignedDuration, Timestamp};

/// The number of runs, unless another one is asked for.
const RUNS: u32 = 10_000;

/// How often each command is timed.
const ROUNDS: usize = 7;

/// The end of the year: later than the files that are written now, which pruning leaves alone for an hour.
const NOW: &str = "2030-01-01T00:00:00Z";

const PLAN: &str = "---
kind: plan
id: report
params: {n: {type: string}}
steps:
  - {id: fetch, run: 'echo \"$WF_PARAM_N\" > data.txt; echo fetched', artifacts: [data.txt]}
  - {id: build, run: 'cat data.txt; echo built', depends_on: [fetch], verify: [{name: there, run: test -s data.txt}]}
  - {id: send, run: 'echo sent', depends_on: [build]}
---
";

/// The commands that are timed; `RUN` is the latest run.
const COMMANDS: [&[&str]; 10] = [
    &["run", "p.md", "-q", "-p", "n=again"],
    &["runs", "-n", "20"],
    &["runs", "-n", "100000"],
    &["show", "RUN"],
    &["show", "0000"],
    &["why", "RUN"],
    &["doctor"],
    &["audit", "verify"],
    &["audit", "verify", "--full"],
    &["backup", "--force", "../backup.tar"],
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let runs = arguments.find_map(|argument| argument.parse().ok()).unwrap_or(RUNS);
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let dir = std::env::var_os("WF_HISTORY").map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let (few, many) = (workspace(&dir.join("few"), 1), workspace(&dir.join("many"), runs));
    print_sizes(&many);
    for command in COMMANDS {
        let [few, many] = alternate(&few, &many, command);
        println!("wf {:<32} {few:>8.1?} {many:>8.1?}", command.join(" "));
    }
    for workspace in [&few, &many] {
        time_page(workspace);
    }
    prune(&many);
    print_sizes(&many);
    for command in
        [COMMANDS[0], &["runs", "--pruned", "-n", "20"], &["show", "0000"], &["audit", "verify", "--full"]]
    {
        let [few, many] = alternate(&few, &many, command);
        println!("pruned: wf {:<24} {few:>8.1?} {many:>8.1?}", command.join(" "));
    }
}

/// Makes a workspace with so many runs, unless it has them.
fn workspace(root: &Path, runs: u32) -> PathBuf {
    fs::create_dir_all(root).expect("a folder can be made");
    fs::write(root.join("p.md"), PLAN).expect("a file can be written");
    fs::write(root.join("wf.yaml"), "retention: {}\n").expect("a file can be written");
    if root.join(".wf").exists() {
        return root.to_owned();
    }
    let began = Instant::now();
    let end: Timestamp = NOW.parse().expect("an instant");
    let year = SignedDuration::from_hours(365 * 24);
    for number in 0..runs {
        let at = end - year
            + (year / i32::try_from(runs).unwrap_or(i32::MAX)) * i32::try_from(number).unwrap_or(0);
        wf(root, &["run", "p.md", "-q", "-p", &format!("n={number}")], &at.to_string());
    }
    println!("{runs} runs in {:.0?}", began.elapsed());
    root.to_owned()
}

/// Runs a command at a time; returns how long it took, and its output.
fn wf(workspace: &Path, arguments: &[&str], now: &str) -> (Duration, String) {
    let began = Instant::now();
    let mut command = Command::new(PROGRAM);
    command.args(arguments).current_dir(workspace).env("HOME", workspace).env("WF_NOW", now);
    let done = command.stderr(Stdio::null()).output().expect("wf starts");
    (began.elapsed(), String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Times a command in both workspaces in turn; returns the medians.
fn alternate(few: &Path, many: &Path, command: &[&str]) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    let latest = [few, many].map(|workspace| {
        let (_, rows) = wf(workspace, &["runs", "-n", "1"], NOW);
        rows.lines().nth(1).and_then(|row| row.split_whitespace().next()).unwrap_or_default().to_owned()
    });
    for _ in 0..ROUNDS {
        for ((times, workspace), latest) in times.iter_mut().zip([few, many]).zip(&latest) {
            let arguments: Vec<&str> =
                command.iter().map(|word| if *word == "RUN" { latest.as_str() } else { word }).collect();
            times.push(wf(workspace, &arguments, NOW).0);
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[ROUNDS / 2]
    })
}

/// Times the page of the runs.
fn time_page(workspace: &Path) {
    let server = PageServer::start(workspace);
    let mut connection = PageConnection::open(&server);
    for path in ["/runs", "/"] {
        let mut times: Vec<Duration> = (0..ROUNDS)
            .map(|_| {
                let began = Instant::now();
                connection.get(path).expect("the page is answered");
                began.elapsed()
            })
            .collect();
        times.sort_unstable();
        println!("page {path} of {}: {:.1?}", workspace.display(), times[ROUNDS / 2]);
    }
}

/// Prunes what is older than 90 days by a run, while another process starts runs.
fn prune(workspace: &Path) {
    fs::write(workspace.join("wf.yaml"), "retention: {max_age: 90d}\n").expect("a file can be written");
    let run = |what: &str| wf(workspace, &["run", "p.md", "-q", "-p", &format!("n={what}")], NOW).0;
    let (took, beside) = thread::scope(|scope| {
        let pruning = scope.spawn(|| run("prune"));
        thread::sleep(Duration::from_millis(200));
        let mut longest = Duration::ZERO;
        while !pruning.is_finished() {
            longest = longest.max(run("beside"));
        }
        (pruning.join().expect("the run ends"), longest)
    });
    println!("the run that prunes: {took:.1?}; the longest run beside it: {beside:.1?}");
}

/// Prints what the state takes on the disk.
fn print_sizes(workspace: &Path) {
    let mut sizes = Command::new("du");
    sizes.args(["-sk", ".wf", ".wf/blobs", ".wf/runs", ".wf/audit", ".wf/state.db"]).current_dir(workspace);
    let output = sizes.output().expect("du starts").stdout;
    println!("KiB: {}", String::from_utf8_lossy(&output).replace(['\n', '\t'], " "));
}
