//! One measurement: a program and all that it leaves behind, until no process of it is left.
//!
//! The benchmark calls itself for it, so that each measurement has a process of its own whose
//! children are counted: it adopts those whose parents have ended.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use nix::sys::resource::{UsageWho, getrusage};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, wait};
use serde::{Deserialize, Serialize};

/// The longest that a measurement may take.
pub const LIMIT: Duration = Duration::from_mins(2);

/// What one measurement found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figures {
    /// Seconds from before its start until the program itself had ended.
    pub wall: f64,
    /// Seconds that processes of it went on after that.
    pub after: f64,
    /// Seconds of processors, of all its processes, for itself and in the system.
    pub cpu: f64,
    /// The most memory that one of its processes had, in MiB.
    pub peak: f64,
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// Why it does not count: what it said first, or that it took too long.
    pub error: Option<String>,
}

/// Measures a program in a folder.
pub fn measured(argv: &[String], dir: &Path) -> Figures {
    let own = std::env::current_exe().expect("the benchmark knows its file");
    let told = dir.with_extension("stderr");
    let mut command = Command::new(own);
    command
        .arg("measure")
        .args(argv)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stderr(File::create(&told).expect("a file for messages"));
    let output = command.output().expect("the benchmark starts itself");
    let figures = serde_json::from_slice(&output.stdout);
    let mut figures: Figures = figures.unwrap_or_else(|_| panic!("{argv:?} cannot be started"));
    if figures.code != Some(0) && figures.error.is_none() {
        let bytes = fs::read(&told).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let first = text.lines().find(|line| !line.trim().is_empty());
        let code = figures.code.map_or("a signal".into(), |code| format!("exit code {code}"));
        figures.error = Some(first.map_or(code, |line| line.trim().chars().take(160).collect()));
    }
    figures
}

/// What the process of a measurement does: starts the program and prints what it found.
#[expect(clippy::zombie_processes, reason = "it waits for any child until there is none")]
pub fn measure(argv: &[String]) -> Figures {
    set_child_subreaper(Some(rustix::process::getpid())).expect("it can adopt processes");
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).stdout(Stdio::null());
    let began = Instant::now();
    let child = command.spawn().expect("the program starts");
    let child = i32::try_from(child.id()).expect("ids of processes are small");
    let (ended, watched) = channel();
    let dog = std::thread::Builder::new();
    let dog = dog.spawn(move || watch(&watched)).expect("a thread starts");
    let mut wall = Duration::ZERO;
    let mut code = None;
    // An error says that no child is left.
    while let Ok(Some((pid, status))) = wait(WaitOptions::empty()) {
        if pid.as_raw_nonzero().get() == child {
            wall = began.elapsed();
            code = status.exit_status();
        }
    }
    let after = began.elapsed().saturating_sub(wall);
    drop(ended);
    let late = dog.join().expect("the watch ends");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the system counts");
    let seconds = |time: nix::sys::time::TimeVal| {
        Duration::from_micros(u64::try_from(time.tv_sec() * 1_000_000 + time.tv_usec()).unwrap_or(0))
    };
    let cpu = seconds(usage.user_time()) + seconds(usage.system_time());
    let kib = u32::try_from(usage.max_rss()).unwrap_or(u32::MAX);
    Figures {
        wall: wall.as_secs_f64(),
        after: after.as_secs_f64(),
        cpu: cpu.as_secs_f64(),
        peak: f64::from(kib) / 1024.0,
        code,
        error: late.then(|| format!("takes more than {} s", LIMIT.as_secs())),
    }
}

/// Ends all children once the time is over, and says whether it had to.
fn watch(ended: &Receiver<()>) -> bool {
    let mut late = false;
    let mut patience = LIMIT;
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(patience) {
        late = true;
        // Those of a child that is killed become children themselves, so it is done again.
        patience = Duration::from_millis(50);
        for pid in children() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    late
}

/// The children of this process, also of its other threads.
fn children() -> Vec<Pid> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let pids = lists.flat_map(|list| {
        let pids = list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
        pids.filter_map(Pid::from_raw).collect::<Vec<Pid>>()
    });
    pids.collect()
}

/// Starts a program so many times at once and waits for all. Did all of them succeed?
pub fn many(count: usize, argv: &[String]) -> bool {
    let start = |_| {
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).spawn().expect("the program starts")
    };
    let children: Vec<_> = (0..count).map(start).collect();
    let mut failed = 0;
    for mut child in children {
        let status = child.wait().expect("a child can be waited for");
        failed += usize::from(!status.success());
    }
    failed == 0
}
