//! What a process takes that does nothing. `benches/goals.rs` uses it, too.

/// How often the threads of a process have gone to sleep: as often as they woke.
pub fn wakes(process: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("it lives");
    let status = |task: std::fs::DirEntry| task.path().join("status").display().to_string();
    let tasks = tasks.flatten().map(status);
    tasks.map(|status| field(&status, "voluntary_ctxt_switches:")).sum()
}

/// The memory of a process in KiB: all that is there, and what it shares with no file.
pub fn memory(process: u32) -> (u64, u64) {
    let status = format!("/proc/{process}/status");
    (field(&status, "VmRSS:"), field(&status, "RssAnon:"))
}

/// A number of the status of a process or a thread.
fn field(path: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(path).expect("it lives");
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).expect("a number")
}
