//! What the pages of a workspace cost with runs of 100,000 tasks: `cargo bench --bench pages`.
//!
//! The runs are recorded by the store, event by event, as an engine does; `wf serve` shows them, in a process of its own. Measured
//! are the time of pages and the most memory of that process, the time from the commit of an event until each of 200 open
//! pages hears of it, and how many requests for small pages are answered and refused in a second.
//!
//! With `-- flood`, that last part alone, without the large runs.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark reads the clock, starts programs and prints"
)]

#[path = "pages/client.rs"]
mod client;
#[path = "pages/flood.rs"]
mod flood;
#[path = "pages/large.rs"]
mod large;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use client::{PROGRAM, PageConnection, PageServer, listen};
use flood::flood;
use large::{Shape, append, record_run};
use wf_store::{Store, StoreDurability};

/// The tasks of a large run, and those of the small one.
const TASKS: u32 = 100_000;
const FEW_TASKS: u32 = 3;

/// How often each page is asked for.
const ROUNDS: usize = 5;

/// The pages that are open at once, and the events that they are to hear of.
const OPEN_PAGES: usize = 200;
const EVENTS: usize = 50;

/// The connections of a flood: fewer than the server lets wait, and more.
const ASKERS: [usize; 2] = [64, 256];

/// A plan that waits for a person.
const ASKS: &str =
    "---\nkind: plan\nid: release\nsteps:\n  - {id: agree, approve: {message: 'Publish?'}}\n---\n";

fn main() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let clock = std::sync::Arc::new(wf_base::time::SystemClock);
    let state = dir.path().join(".wf");
    let store = Store::open(&state, StoreDurability::Normal, clock).expect("the store opens");
    let small = record_run(&store, Shape::Items, FEW_TASKS);
    fs::write(dir.path().join("plan.md"), Shape::Items.plan(FEW_TASKS)).expect("a file can be written");
    ask_for_approval(dir.path());
    if std::env::args().all(|argument| argument != "flood") {
        measure_large_runs(dir.path(), &store, &small);
    }
    let server = PageServer::start(dir.path());
    println!("memory at the start: {} MB", server.peak_megabytes());
    for (what, path) in [
        ("style sheet", "/style.css".to_owned()),
        ("small run", format!("/runs/{small}")),
        ("stream", "/".to_owned()),
        ("review", "/inbox".to_owned()),
    ] {
        for askers in ASKERS {
            flood(&server, askers, what, &path);
        }
    }
}

/// Starts a run that waits for a person.
fn ask_for_approval(workspace: &Path) {
    fs::write(workspace.join("release.md"), ASKS).expect("a file can be written");
    let mut command = Command::new(PROGRAM);
    command.args(["run", "release.md"]).current_dir(workspace).env("HOME", workspace);
    let ended = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("wf starts");
    assert_eq!(ended.code(), Some(5), "the run waits");
}

/// Records the large runs, and measures their pages and the streams.
fn measure_large_runs(workspace: &Path, store: &Store, small: &wf_base::name::RunId) {
    let began = Instant::now();
    let items = record_run(store, Shape::Items, TASKS);
    let steps = record_run(store, Shape::Steps, TASKS);
    println!("recorded two runs of {TASKS} tasks in {:.1} s", began.elapsed().as_secs_f64());
    let server = PageServer::start(workspace);
    println!("memory at the start: {} MB", server.peak_megabytes());
    let (run, steps) = (format!("/runs/{items}"), format!("/runs/{steps}"));
    for (what, path) in [
        ("first page", run.clone()),
        ("page 251", format!("{run}?page=250")),
        ("last page", format!("{run}?page=500")),
        ("filter: failed", format!("{run}?state=failed")),
        ("filter: succeeded, page 400", format!("{run}?state=succeeded&page=400")),
        ("step page", format!("{run}/steps/probe[77777]")),
        ("stream", "/".to_owned()),
        ("small run", format!("/runs/{small}")),
        ("100,000 steps, first page", steps.clone()),
        ("100,000 steps, last page", format!("{steps}?page=500")),
    ] {
        time_page(&server, what, &path);
    }
    time_streams(&server, store, small);
    println!("memory at the end: {} MB", server.peak_megabytes());
}

/// Asks for a page some times, and prints the times and the memory of the server.
fn time_page(server: &PageServer, what: &str, path: &str) {
    let mut connection = PageConnection::open(server);
    let mut times = Vec::new();
    let mut size = 0;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let page = connection.get(path).expect("the page is answered");
        times.push(began.elapsed());
        let text = String::from_utf8_lossy(&page);
        assert!(what != "first page" || text.contains("<svg"), "the picture is shown");
        size = page.len();
    }
    times.sort_unstable();
    let (median, most) = (times[ROUNDS / 2].as_secs_f64() * 1e3, times[ROUNDS - 1].as_secs_f64() * 1e3);
    let memory = server.peak_megabytes();
    println!("{what:<28} {median:>8.1} ms, at most {most:>8.1} ms, {size:>8} bytes, memory {memory} MB");
}

/// Opens streams, records events one after the other, and prints how long each stream took to hear of each.
fn time_streams(server: &PageServer, store: &Store, run: &wf_base::name::RunId) {
    let (sender, heard) = mpsc::channel();
    for _ in 0..OPEN_PAGES {
        let (lines, sender) = (listen(server), sender.clone());
        thread::spawn(move || {
            for end in lines {
                if sender.send((end, Instant::now())).is_err() {
                    return;
                }
            }
        });
    }
    let mut times = Vec::new();
    let mut lost = 0;
    // Each stream begins with the end of the log as it is.
    for _ in 0..OPEN_PAGES {
        heard.recv_timeout(Duration::from_secs(10)).expect("each stream begins");
    }
    for number in 0..EVENTS {
        let end = append(store, run, number);
        let committed = Instant::now();
        for _ in 0..OPEN_PAGES {
            match heard.recv_timeout(Duration::from_secs(2)) {
                Ok((seen, at)) if seen == end => times.push(at.saturating_duration_since(committed)),
                Ok(_) | Err(_) => lost += 1,
            }
        }
    }
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!(
        "{OPEN_PAGES} open pages, {EVENTS} events: p50 {:.1} ms, p99 {:.1} ms, at most {:.1} ms, lost {lost}",
        at(50),
        at(99),
        at(100)
    );
}
