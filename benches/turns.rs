//! The cost of an agent's loop: replays of conversations of some turns, one without processes (each turn asks for a
//! tool that does not exist) and one whose turns read a file, each in a process of its own in the sandbox.
//!
//! Run with `cargo bench --bench turns`. The ratio is the time of a turn beside that of a turn of the shortest
//! conversation: work that grows with the conversation shows in it. The processor time is that of the engine alone.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark reads the clock, starts programs and prints"
)]

use std::{fmt::Write as _, fs, path::Path, process::Command, time::Instant};

use nix::sys::resource::{UsageWho, getrusage};

/// The turns of a conversation.
const TURNS: [usize; 2] = [20, 200];

/// How often each is measured.
const ROUNDS: usize = 3;

/// The size of the file that is read.
const FILE_BYTES: usize = 1_500;

const PLAN: &str = "---\nkind: plan\nid: turns\nsteps:\n  - {id: fix, agent: {role: executor, tools: [read], \
                    max_turns: 1000}}\n---\n\n## fix\n\nRead it.\n";

const MODELS: &str = "models: {fixer: {api: scripted, model: replies.yaml}}\nroles: {executor: fixer}\n";

/// The time of a replay, in seconds.
#[derive(Clone, Copy)]
struct Times {
    clock: f64,
    processor: f64,
}

fn main() {
    println!(
        "{:<6} {:>6} {:>9} {:>11} {:>9} {:>7}",
        "tool", "turns", "seconds", "processor", "ms/turn", "ratio"
    );
    for tool in ["fly", "read"] {
        let mut shortest = None;
        for turns in TURNS {
            let times = measure(tool, turns);
            let each = times.clock * 1e3 / turns as f64;
            let ratio = each / *shortest.get_or_insert(each);
            println!(
                "{tool:<6} {turns:>6} {:>9.2} {:>11.2} {each:>9.2} {ratio:>7.2}",
                times.clock, times.processor
            );
        }
    }
}

/// Returns the median of some replays of a conversation.
fn measure(tool: &str, turns: usize) -> Times {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let put = |name: &str, text: &str| {
        fs::write(dir.path().join(name), text).expect("a file can be written");
    };
    put("wf.yaml", MODELS);
    put("plan.md", PLAN);
    put("text.txt", &"a line of text\n".repeat(FILE_BYTES / 15));
    let mut replies = String::new();
    for _ in 1..turns {
        let _ = writeln!(replies, "- tool_calls: [{{tool: {tool}, arguments: {{path: text.txt}}}}]");
    }
    put("replies.yaml", &format!("{replies}- text: done\n"));
    run(dir.path(), "--record");
    let mut times: Vec<Times> = (0..ROUNDS).map(|_| run(dir.path(), "--replay")).collect();
    times.sort_by(|one, other| one.clock.total_cmp(&other.clock));
    times[ROUNDS / 2]
}

fn run(dir: &Path, tape: &str) -> Times {
    let (began, busy) = (Instant::now(), processor_seconds());
    let mut command = Command::new(env!("CARGO_BIN_EXE_wf"));
    command.args(["run", "-q", "plan.md", tape, "tape"]).current_dir(dir).env("HOME", dir);
    let output = command.output().expect("wf runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Times { clock: began.elapsed().as_secs_f64(), processor: processor_seconds() - busy }
}

/// Returns the processor time of the programs that ended. The supervisor and the tools are not among them.
fn processor_seconds() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the system counts");
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}
