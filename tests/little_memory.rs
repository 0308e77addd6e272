//! Many steps at once where there is little memory: they wait, and nothing is aborted.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::support::{Did, Sandbox};

/// A plan of fifty steps at once, each in a sandbox, with a check.
fn fifty() -> Sandbox {
    let sandbox = Sandbox::new();
    let steps: String = (0..50)
        .map(|at| {
            format!(
                "  - id: s{at}\n    run: sleep 0.5; echo done > out{at}\n    allow: {{write: [.]}}\n    \
                 writes: [\"out*\"]\n    verify: [{{name: made, run: test -s out{at} && sleep 0.2}}]\n"
            )
        })
        .collect();
    sandbox.file(
        "plan.md",
        format!("---\nkind: plan\nid: fifty\npolicy: {{max_parallel: 50}}\nsteps:\n{steps}---\n"),
    );
    sandbox
}

/// Runs the plan in a shell after a script.
fn run(sandbox: &Sandbox, before: &str) -> Did {
    let script = format!("{before}; exec \"$0\" run plan.md");
    Did::of(sandbox.program("sh").args(["-c", &script, env!("CARGO_BIN_EXE_wf")]))
}

#[test]
fn fifty_steps_at_once_need_no_more_address_space_than_300_mb() {
    run(&fifty(), "ulimit -v 300000").exits(0).says("50 verified");
}

/// A limit within which it would be aborted in the middle of something is said before anything is recorded.
#[test]
fn too_little_address_space_is_refused() {
    let sandbox = fifty();
    // How much that is depends on the build, which cannot even be loaded with the first of these.
    let mut tries = (60..300).step_by(8).map(|mib| run(&sandbox, &format!("ulimit -v {}", mib << 10)));
    let refused = tries.find(|said| said.code == Some(6) && said.all().contains("`ulimit -v`"));
    refused.expect("some limit is too little").says("raise the limit").says("nothing was started");
    sandbox.wf(&["runs"]).exits(0).says("no runs");
}

/// A control group of this test with 300 MB, where it may create one.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    fn new() -> Option<Self> {
        let name = format!("wf-test-{}", std::process::id());
        let kinds = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        kinds.into_iter().find_map(|(mount, limit)| {
            let group = Path::new(mount).join(&name);
            fs::create_dir(&group).ok()?;
            let group = Self(group);
            fs::write(group.0.join(limit), "300M").ok()?;
            Some(group)
        })
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn fifty_steps_at_once_wait_for_memory_in_a_group_of_300_mb() {
    let Some(group) = MemoryGroup::new() else {
        println!("NOT RUN: whether steps wait for memory: no control group with a limit can be created");
        return;
    };
    let enter = format!("echo $$ > {}", group.0.join("cgroup.procs").display());
    run(&fifty(), &enter).exits(0).says("50 verified");
    let events = ["memory.events", "memory.oom_control"];
    let events = events.map(|file| fs::read_to_string(group.0.join(file)).unwrap_or_default()).concat();
    assert!(events.lines().all(|line| !line.starts_with("oom_kill ") || line == "oom_kill 0"), "{events}");
}
