//! What confining a check costs: beside a check without a sandbox, and beside the least that
//! namespaces cost, which is `unshare` of util-linux with the same ones and no view of its own. All
//! three are measured in turn, and the ratios are medians over the rounds.
//!
//! Run with `cargo bench --bench sandbox`.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark reads the clock, starts programs and prints"
)]

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

/// How often each is measured.
const ROUNDS: usize = 9;

/// How many checks a run has.
const CHECKS: usize = 50;

fn main() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let checks: String =
        (0..CHECKS).map(|at| format!("      - {{name: c{at}, exec: [\"true\"]}}\n")).collect();
    let plan = |verify: &str| {
        format!("---\nkind: plan\nid: p\nsteps:\n  - id: a\n    exec: [\"true\"]\n{verify}---\n")
    };
    let put = |name: &str, text: &str| {
        fs::write(dir.path().join(name), text).expect("a file can be written");
    };
    put("checked.md", &plan(&format!("    verify:\n{checks}")));
    put("bare.md", &plan(""));
    let mut times: [Vec<f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        put("wf.yaml", "sandbox: on\n");
        let bare = run(dir.path(), "bare.md");
        let on = run(dir.path(), "checked.md");
        put("wf.yaml", "sandbox: off\n");
        let off = run(dir.path(), "checked.md");
        for (kept, time) in times.iter_mut().zip([on - bare, off - bare, floor()]) {
            kept.push(time);
        }
    }
    let [on, off, least] = &times;
    println!("{:<34} {:>9} {:>12}", "one check", "us", "x unshare");
    for (name, each) in [("in a sandbox", on), ("without", off), ("unshare alone", least)] {
        let ratio = median(each.iter().zip(least).map(|(time, least)| time / least));
        let micros = median(each.iter().copied()) * 1e6 / CHECKS as f64;
        println!("{name:<34} {micros:>9.0} {ratio:>12.2}");
    }
}

/// How long a run takes.
fn run(dir: &Path, plan: &str) -> f64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wf"));
    command.args(["run", "-q", plan]).current_dir(dir);
    timed(&mut command)
}

/// How long the namespaces of as many checks take.
fn floor() -> f64 {
    let began = Instant::now();
    for _ in 0..CHECKS {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "--pid", "--net", "--ipc"]);
        timed(command.args(["--fork", "true"]));
    }
    began.elapsed().as_secs_f64()
}

fn timed(command: &mut Command) -> f64 {
    let began = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let ended = status.is_ok_and(|status| status.success());
    assert!(ended, "{command:?} failed");
    began.elapsed().as_secs_f64()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
