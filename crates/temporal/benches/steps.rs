//! The cost of steps on a backend: `cargo bench -p wf-temporal --bench steps` runs a plan of 1,000 steps that do nothing with
//! 1, 2 and 4 workers, and prints steps per second, the time that a step takes alone, and the memory of a worker. Beside
//! it: the same plan here, and a workflow of the same library that starts as many processes and does nothing else.
//! `-- --steps N` takes another number. It needs a server: `crates/temporal/tests/install`; and `cargo build --bin wf`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and fails where it cannot go on"
)]

#[path = "steps/bare.rs"]
mod bare;
#[path = "../tests/farm.rs"]
#[expect(dead_code, reason = "the tests need more of it")]
mod farm;
#[path = "../tests/programs.rs"]
#[expect(dead_code, reason = "the tests need more of it")]
mod programs;
#[path = "../tests/server.rs"]
#[expect(dead_code, reason = "the tests need more of it")]
mod server;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use farm::Farm;

/// The number of steps that a worker does at once, at most.
const AT_ONCE: usize = 100;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let at = words.iter().position(|word| word == "--steps");
    let steps = at.and_then(|at| words.get(at + 1)).map_or(1_000, |count| count.parse().unwrap());
    let mut farm = Farm::at("127.0.0.1");
    farm.plan("wide", &wide(steps)).plan("one", &wide(1));
    let here = measure(|| farm.wf(&["run", "-q", "wide.md"]).exits(0));
    print("here", steps, here);
    let alone = measure(|| farm.wf(&["run", "-q", "one.md"]).exits(0));
    println!("here: one step, with the start of wf: {alone:.0?}");
    print("bare workflow, 1 worker", steps, bare::run(&farm.server.address(), steps));
    for workers in 1..=4 {
        farm.start_worker(&format!("w{workers}"));
        if workers == 3 {
            continue;
        }
        let alone = measure(|| farm.wf(&["run", "-q", "--on", "farm", "one.md"]).exits(0));
        println!("backend, {workers} workers: one step, with the start of wf: {alone:.0?}");
        let took = measure(|| farm.wf(&["run", "-q", "--on", "farm", "wide.md"]).exits(0));
        print(&format!("backend, {workers} workers"), steps, took);
        println!("backend, {workers} workers: {} MiB of memory for the first", memory(&farm, "w1") >> 10);
    }
}

/// A plan of steps that do nothing, all at once.
fn wide(steps: usize) -> String {
    let items: Vec<String> = (0..steps).map(|item| item.to_string()).collect();
    format!(
        "policy: {{max_parallel: {AT_ONCE}}}\nsteps:\n  - {{id: step, for_each: [{}], run: \"true\"}}",
        items.join(", ")
    )
}

/// Returns the memory of a worker, in KiB.
fn memory(farm: &Farm, worker: &str) -> u64 {
    let runs = farm.path(worker).join("runs").display().to_string();
    let folders = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let args = |folder: &Path| std::fs::read_to_string(folder.join("cmdline")).unwrap_or_default();
    let is_it = |folder: &PathBuf| args(folder).contains("worker") && args(folder).contains(&runs);
    let status = std::fs::read_to_string(folders.into_iter().find(is_it).unwrap().join("status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "this measures")]
fn measure<T>(act: impl FnOnce() -> T) -> Duration {
    let begun = Instant::now();
    act();
    begun.elapsed()
}

fn print(what: &str, steps: usize, took: Duration) {
    let rate = steps as u128 * 1_000 / took.as_millis().max(1);
    println!("{what}: {steps} steps in {took:.1?}, {rate} steps/s");
}
