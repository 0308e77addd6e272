//! What running steps costs, beside the least it can cost and beside make and ninja where they
//! are installed. Every measurement of one program is preceded at once by one of the floor, and
//! the ratio is the median over those pairs, so that a busy machine disturbs it little.
//!
//! Run with `cargo bench --bench overhead`; `-- chain1000 fan1000` chooses.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark reads the clock, starts programs and prints"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often each pair is measured.
const ROUNDS: usize = 5;

/// A workload: its name and, for each step, the steps it needs.
struct Load {
    name: &'static str,
    needs: Vec<Vec<usize>>,
    command: &'static str,
    parallel: usize,
}

fn main() {
    let chosen: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let dir = tempfile::tempdir().expect("a temporary folder");
    println!(
        "{:<22} {:>10} {:>10} {:>9} {:>9}",
        "workload", "program", "median", "us/step", "x floor"
    );
    for load in loads() {
        if chosen.is_empty() || chosen.iter().any(|name| name == load.name) {
            measure(&load, dir.path());
        }
    }
}

fn loads() -> Vec<Load> {
    let chain = |n: usize| {
        (0..n)
            .map(|at| if at == 0 { vec![] } else { vec![at - 1] })
            .collect()
    };
    let fan = |n: usize| vec![Vec::new(); n];
    let layered = |n: usize| {
        let need = |at: usize| match at / 40 {
            0 => vec![],
            layer => (0..3)
                .map(|k| (layer - 1) * 40 + (at * 7 + k * 13) % 40)
                .collect(),
        };
        (0..n).map(need).collect()
    };
    let load = |name, needs, command, parallel| Load {
        name,
        needs,
        command,
        parallel,
    };
    vec![
        load("single", fan(1), "true", 1),
        load("chain1000", chain(1000), "true", 2),
        load("fan1000", fan(1000), "true", 2),
        load("fan1000-p8", fan(1000), "true", 8),
        load("fan10000", fan(10_000), "true", 2),
        load("layered", layered(1000), "true", 2),
        load("layered-program", layered(1000), "/bin/true", 2),
        load(
            "log-100mb",
            fan(100),
            "head -c 1000000 /dev/zero | tr '\\0' x",
            2,
        ),
    ]
}

fn measure(load: &Load, dir: &Path) {
    let steps = load.needs.len();
    let mut programs: Vec<(&str, Vec<String>)> = vec![("wf", wf(load, dir))];
    programs.extend(installed("make").then(|| ("make", make(load, dir))));
    programs.extend(installed("ninja").then(|| ("ninja", ninja(load, dir))));
    for (name, argv) in programs {
        let mut times = Vec::new();
        let mut ratios = Vec::new();
        for _ in 0..ROUNDS {
            let least = floor(load);
            let _ = fs::remove_dir_all(dir.join("state"));
            let time = timed(&argv, dir);
            ratios.push(time.as_secs_f64() / least.as_secs_f64());
            times.push(time.as_secs_f64());
        }
        let time = median(&mut times);
        let micros = time * 1e6 / steps as f64;
        let ratio = median(&mut ratios);
        println!(
            "{:<22} {name:>10} {time:>9.3}s {micros:>9.0} {ratio:>9.2}",
            load.name
        );
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The least it can cost: processes started one after another, or a few at a time, without a
/// graph, a record or a log.
fn floor(load: &Load) -> Duration {
    let chain = load.needs.get(1).is_some_and(|needs| needs == &[0]);
    let threads = if chain { 1 } else { load.parallel };
    let began = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for _ in (thread..load.needs.len()).step_by(threads) {
                    let mut sh = Command::new("sh");
                    sh.args(["-c", load.command])
                        .stdout(Stdio::null())
                        .status()
                        .expect("sh runs");
                }
            });
        }
    });
    began.elapsed()
}

fn timed(argv: &[String], dir: &Path) -> Duration {
    let began = Instant::now();
    let mut command = Command::new(&argv[0]);
    command
        .args(&argv[1..])
        .current_dir(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let status = command.status().expect("the program runs");
    assert!(status.success(), "{argv:?} failed");
    began.elapsed()
}

fn installed(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok()
}

fn words(argv: &[&str]) -> Vec<String> {
    argv.iter().map(|word| (*word).to_owned()).collect()
}

fn wf(load: &Load, dir: &Path) -> Vec<String> {
    let mut text = format!(
        "---\nkind: plan\nid: bench\npolicy: {{max_parallel: {}}}\nsteps:\n",
        load.parallel
    );
    for (at, needs) in load.needs.iter().enumerate() {
        let needs: Vec<String> = needs.iter().map(|need| format!("s{need}")).collect();
        let _ = writeln!(
            text,
            "  - {{id: s{at}, run: {:?}, depends_on: [{}]}}",
            load.command,
            needs.join(", ")
        );
    }
    fs::write(dir.join("plan.md"), text + "---\n").expect("the plan can be written");
    fs::write(dir.join("wf.yaml"), "# nothing\n").expect("the workspace can be marked");
    words(&[
        env!("CARGO_BIN_EXE_wf"),
        "run",
        "-q",
        "--state",
        "state",
        "plan.md",
    ])
}

fn make(load: &Load, dir: &Path) -> Vec<String> {
    let mut text = String::from(".PHONY: all\nall:");
    (0..load.needs.len()).for_each(|at| text += &format!(" s{at}"));
    for (at, needs) in load.needs.iter().enumerate() {
        let needs: Vec<String> = needs.iter().map(|need| format!("s{need}")).collect();
        let command = load.command.replace('$', "$$");
        let _ = write!(text, "\ns{at}: {}\n\t@{command}\n", needs.join(" "));
    }
    fs::write(dir.join("Makefile"), text).expect("the makefile can be written");
    words(&["make", &format!("-j{}", load.parallel)])
}

fn ninja(load: &Load, dir: &Path) -> Vec<String> {
    let mut text = format!("rule r\n  command = {}\n", load.command.replace('$', "$$"));
    for (at, needs) in load.needs.iter().enumerate() {
        let needs: Vec<String> = needs.iter().map(|need| format!("s{need}")).collect();
        let _ = writeln!(text, "build s{at}: r {}", needs.join(" "));
    }
    fs::write(dir.join("build.ninja"), text).expect("the build file can be written");
    words(&["ninja", "--quiet", &format!("-j{}", load.parallel)])
}
