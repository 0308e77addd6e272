//! What the pages of a workspace cost with runs of 100,000 tasks: `cargo bench --bench pages`.
//!
//! The runs are recorded by the store, event by event, as an engine does; `wf serve` shows them, in a process of its own. Measured
//! are the time of pages and the most memory of that process, the time from the commit of an event until each of 200 open
//! pages hears of it, and how many requests for a small page are answered in a second.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark reads the clock, starts programs and prints"
)]

#[path = "pages/client.rs"]
mod client;
#[path = "pages/large.rs"]
mod large;

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use client::{PageConnection, PageServer, listen};
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

/// The connections that ask for a small page again and again, and for how long.
const ASKERS: usize = 16;
const ASKING: Duration = Duration::from_secs(5);

fn main() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let clock = std::sync::Arc::new(wf_base::time::SystemClock);
    let state = dir.path().join(".wf");
    let store = Store::open(&state, StoreDurability::Normal, clock).expect("the store opens");
    let began = Instant::now();
    let items = record_run(&store, Shape::Items, TASKS);
    let steps = record_run(&store, Shape::Steps, TASKS);
    let small = record_run(&store, Shape::Items, FEW_TASKS);
    println!("recorded two runs of {TASKS} tasks in {:.1} s", began.elapsed().as_secs_f64());
    fs::write(dir.path().join("plan.md"), Shape::Items.plan(FEW_TASKS)).expect("a file can be written");
    let server = PageServer::start(dir.path());
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
    time_streams(&server, &store, &small);
    time_requests(&server, &format!("/runs/{small}"));
    time_requests(&server, "/style.css");
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

/// Asks for a page from several connections as fast as it is answered.
fn time_requests(server: &PageServer, path: &str) {
    let (answered, failed, is_over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..ASKERS {
            scope.spawn(|| {
                let mut connection = PageConnection::open(server);
                while !is_over.load(Ordering::Relaxed) {
                    let count = if connection.get(path).is_some() { &answered } else { &failed };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        thread::sleep(ASKING);
        is_over.store(true, Ordering::Relaxed);
    });
    let each = answered.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    let path = path.split('/').next_back().unwrap_or_default();
    println!(
        "{ASKERS} connections, {path}: {each:.0} requests a second, {} failed",
        failed.load(Ordering::Relaxed)
    );
}
