//! What goals cost: `cargo bench --bench goals` lets thirty years pass in every zone, `-- --years N`
//! another time, and prints how fast; then it looks at a daemon that has nothing to do.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::{
    io::Read as _,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use wf_base::time::Moment;
use wf_model::schedule::ScheduleZone;

#[path = "../tests/goals/idle.rs"]
mod process;
#[path = "../tests/goals/years.rs"]
mod years;

/// Beyond this an idle daemon takes too much, in KiB; in a release build.
const MOST: u64 = 15 << 10;

/// How long an idle daemon is watched.
const WATCHED: Duration = Duration::from_secs(20);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let at = words.iter().position(|word| word == "--years");
    let count = at.and_then(|at| words.get(at + 1));
    years_pass(count.and_then(|count| count.parse().ok()).unwrap_or(30));
    idle();
}

#[expect(clippy::disallowed_methods, reason = "this measures")]
fn years_pass(count: u64) {
    let from = Moment::parse("2000-01-01T00:00:00Z").expect("an instant");
    let to = from.after(Duration::from_hours(count * 8_766));
    let zones = ScheduleZone::names();
    let begin = Instant::now();
    let mut all = years::Seen::default();
    for (number, zone) in zones.iter().enumerate() {
        let seen = years::live(zone, number, (from, to));
        all.slots += seen.slots;
        all.begun += seen.begun;
        all.wakes += seen.wakes;
    }
    let took = begin.elapsed();
    let rate = u128::from(all.slots) * 1_000_000 / took.as_micros().max(1);
    println!(
        "{count} years in {} zones: {} slots, {} cycles, {} looks in {took:.1?}: {rate} slots/s, each accounted for once",
        zones.len(),
        all.slots,
        all.begun,
        all.wakes
    );
}

/// A daemon whose goal is due in a year.
fn idle() {
    let dir = tempfile::tempdir().expect("there is a folder for temporary files");
    let file = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("a file");
    std::fs::create_dir(dir.path().join("goals")).expect("a folder");
    file("wf.yaml", "");
    let goal =
        "---\nkind: goal\nid: rare\nschedule: \"0 0 29 2 *\"\nverify: [{name: holds, run: 'true'}]\n---\n";
    file("goals/rare.md", goal);
    let wf = |words: &[&str]| {
        #[expect(clippy::disallowed_methods, reason = "this is wf itself")]
        let mut command = Command::new(env!("CARGO_BIN_EXE_wf"));
        command.args(words).current_dir(dir.path()).env("HOME", dir.path()).stdin(Stdio::null());
        command
    };
    let accepted = wf(&["goal", "accept", "rare", "--yes", "-q"]).status().expect("wf can be started");
    assert!(accepted.success(), "a new goal can be accepted");
    let mut daemon = wf(&["daemon", "-q"]).stderr(Stdio::piped()).spawn().expect("wf can be started");
    std::thread::sleep(Duration::from_secs(3));
    let before = process::wakes(daemon.id());
    std::thread::sleep(WATCHED);
    // Threads that ended meanwhile are counted no more.
    let woken = process::wakes(daemon.id()).saturating_sub(before);
    let (memory, own) = process::memory(daemon.id());
    daemon.kill().expect("it lives");
    daemon.wait().expect("it ends");
    let mut said = String::new();
    let mut errors = daemon.stderr.take().expect("it is piped");
    errors.read_to_string(&mut said).expect("text");
    assert_eq!(said, "", "it has nothing to say");
    println!("an idle daemon: {memory} KiB, {own} of them its own; woke {woken} times in {WATCHED:?}");
    assert!(cfg!(debug_assertions) || memory < MOST, "that is too much");
}
