//! A run has one owner, and a former one cannot write.

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Sandbox, until};

/// A plan whose step waits until it is let go, and leaves a line when it begins.
const SLOW: &str = "---\nkind: plan\nid: slow\nsteps:\n  - id: a\n    idempotent: true\n    run: |\n\
    \x20     echo on >> on\n      until [ -e go ]; do sleep 0.02; done\n\
    \x20 - {id: b, depends_on: [a], run: \"echo b >> done\"}\n---\n";

fn signal(child: &std::process::Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn a_stopped_owner_loses_its_run_and_cannot_write_when_it_wakes() {
    let sandbox = Sandbox::new();
    sandbox.file("slow.md", SLOW);
    let run = |args: &[&str]| {
        let mut command = sandbox.command(args);
        command.env("WF_LEASE", "1500");
        command
    };
    let first = run(&["run", "slow.md"]).spawn().unwrap();
    until("the step runs", || sandbox.at("on").exists());
    // It lives and works: refused however long one tries.
    sandbox
        .wf(&["resume", "--last"])
        .exits(2)
        .says(&format!("is held by process {} since ", first.id()))
        .says("lease expires in ");
    signal(&first, Signal::STOP);

    // Stopped, it no longer renews its lease; then the run can be taken.
    let mut heir = None;
    until("the run is taken over", || {
        let mut child = run(&["resume", "--last"]).spawn().unwrap();
        let works = format!("\"pid\":{},", child.id());
        until("it is refused or works", || {
            let shown = sandbox.wf(&["show", "--last", "--json"]).out;
            shown.replace(' ', "").contains(&works) || child.try_wait().unwrap().is_some()
        });
        let refused = child.try_wait().unwrap();
        assert!(refused.is_none_or(|status| status.code() == Some(2)));
        heir = refused.is_none().then_some(child);
        heir.is_some()
    });
    let heir = heir.unwrap();
    let taken = format!("was taken over by process {}", heir.id());
    signal(&first, Signal::CONT);
    let woken = first.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&woken.stderr);
    assert_eq!(woken.status.code(), Some(6), "{told}");
    assert!(told.contains(&taken), "{told}");

    sandbox.file("go", "");
    let ended = heir.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{told}");
    assert_eq!(sandbox.read("done"), "b\n");
    assert_eq!(sandbox.read("on"), "on\n", "the step was taken over, not repeated");
    sandbox.wf(&["show", "--last"]).exits(0).says("succeeded");
    sandbox.wf(&["doctor"]).exits(0).says("hash chain OK");
}

#[test]
fn a_killed_owner_is_followed_at_once() {
    let sandbox = Sandbox::new();
    sandbox.file("slow.md", SLOW);
    let mut first = sandbox.start(&["run", "slow.md"]);
    until("the step runs", || sandbox.at("on").exists());
    first.kill().unwrap();
    first.wait().unwrap();
    sandbox.file("go", "");
    sandbox.wf(&["resume", "--last"]).exits(0).says("succeeded");
}
