//! What steps start is found and ended, whatever it does to be forgotten.

use rustix::process::{Pid, Signal};

use crate::{
    crash::lines_of_ps,
    support::{Sandbox, until},
};

/// A daemon in a session of its own, without parents and without an environment.
const DAEMON: &str = "env -i setsid sh -c 'env -i setsid sleep 1000 > /dev/null 2>&1 &' > /dev/null 2>&1";

fn plan(steps: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", format!("---\nkind: plan\nid: plan\nsteps:\n{steps}---\n"));
    sandbox
}

fn nothing_runs(sandbox: &Sandbox) {
    let left = lines_of_ps(sandbox);
    assert!(left.is_empty(), "{left:?}");
}

/// Whether somebody holds the journal of the one keeper.
fn is_claimed(sandbox: &Sandbox) -> bool {
    let files = std::fs::read_dir(sandbox.at(".wf/keepers")).unwrap();
    let mut paths = files.map(|file| file.unwrap().path());
    let journal = paths.find(|path| path.extension().is_some_and(|end| end == "journal"));
    let journal = std::fs::File::open(journal.unwrap()).unwrap();
    matches!(journal.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock))
}

#[test]
fn a_timeout_takes_a_daemon_along() {
    let steps = format!("  - id: a\n    timeout: 1s\n    run: |\n      {DAEMON}\n      sleep 60\n");
    let sandbox = plan(&steps);
    sandbox.wf(&["run", "plan.md"]).exits(1).says("timed out");
    nothing_runs(&sandbox);
}

#[test]
fn a_service_serves_later_steps_and_ends_with_the_run() {
    let steps = format!(
        "  - id: serve\n    run: |\n      {DAEMON}\n\
         \x20 - id: use\n    depends_on: [serve]\n    run: pgrep -f 'sleep 1000' | while read pid; do readlink /proc/$pid/cwd; done | grep -qx \"$PWD\"\n"
    );
    let sandbox = plan(&steps);
    sandbox.wf(&["run", "plan.md"]).exits(0);
    nothing_runs(&sandbox);
}

#[test]
fn a_service_outlives_a_dead_engine_until_the_run_ends() {
    let steps = format!(
        "  - id: serve\n    run: |\n      {DAEMON}\n      touch served\n\
         \x20 - id: use\n    depends_on: [serve]\n    run: until test -e go; do sleep 0.01; done\n"
    );
    let sandbox = plan(&steps);
    let mut engine = sandbox.start(&["run", "plan.md"]);
    until("the service is there", || sandbox.at("served").exists());
    // Others that tidy up leave the keeper alone as long as its engine lives.
    assert!(is_claimed(&sandbox));
    engine.kill().unwrap();
    engine.wait().unwrap();
    assert!(!is_claimed(&sandbox));
    let serving = || lines_of_ps(&sandbox).iter().any(|line| line.contains("1000"));
    // It is the shell that starts it for a moment.
    until("the service runs", serving);
    sandbox.file("go", "");
    sandbox.wf(&["resume", "--last"]).exits(0);
    assert!(!serving());
    nothing_runs(&sandbox);
}

#[test]
fn a_keeper_takes_orders_from_its_owner_alone() {
    let sandbox = plan("  - {id: a, run: \"ls -ld .wf/keepers\"}\n");
    sandbox.wf(&["run", "-v", "plan.md"]).exits(0).says("drwx------");
}

#[test]
fn the_second_interrupt_kills_at_once() {
    let steps = "  - id: a\n    run: |\n      trap 'touch asked' TERM\n      touch on\n\
                 \x20     while :; do sleep 0.05 || :; done\n";
    let sandbox = plan(steps);
    sandbox.file("wf.yaml", "policy: {grace: 10m}\n");
    let engine = sandbox.start(&["run", "plan.md"]);
    until("the step runs", || sandbox.at("on").exists());
    let pid = rustix::process::Pid::from_raw(i32::try_from(engine.id()).unwrap()).unwrap();
    let interrupt = || rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    interrupt();
    until("the step is asked to end", || sandbox.at("asked").exists());
    interrupt();
    let output = engine.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    nothing_runs(&sandbox);
}

#[test]
fn a_step_ignores_what_whoever_started_wf_ignores_and_nothing_else() {
    let sandbox = plan("  - {id: a, run: grep SigIgn /proc/self/status > seen}\n");
    let mut told = sandbox.program("sh");
    let script = "trap '' HUP; exec \"$0\" run plan.md";
    told.args(["-c", script, env!("CARGO_BIN_EXE_wf")]);
    assert!(told.status().unwrap().success());
    let seen = sandbox.read("seen");
    let mask = seen.trim().trim_start_matches("SigIgn:").trim();
    let mask = u64::from_str_radix(mask, 16).unwrap();
    // What the C library keeps for itself is no concern of programs.
    let ignored: Vec<u32> = (1..=31).filter(|one| mask >> (one - 1) & 1 == 1).collect();
    assert_eq!(ignored, [1], "{seen}");
}

/// A worker that is done, and leaves something that goes on writing what it declares, forth and back.
const RESTLESS: &str = "  - id: make\n    writes: [\"out/**\"]\n    run: |\n      mkdir out\n      printf x > out/it\n      \
    setsid sh -c 'while :; do printf right 1<> out/it; printf wrong 1<> out/it; done' > /dev/null 2>&1 &\n";

/// Succeeds if a file stays as it is for half a second.
const STAYS: &str = "first=$(cat out/it); for i in $(seq 50); do [ \"$first\" = \"$(cat out/it)\" ] || exit 1; sleep 0.01; done";

#[test]
fn what_a_step_left_running_stands_still_while_a_check_looks() {
    let check = |name: &str| format!("      - {{name: {name}, run: {}}}\n", serde_json::json!(STAYS));
    let checks = format!("    verify:\n{}{}", check("stays"), check("stays_again"));
    let sandbox = plan(&format!(
        "{RESTLESS}{checks}  - id: meanwhile\n    run: {}\n\
         \x20 - id: later\n    depends_on: [make]\n    run: {}\n",
        serde_json::json!("until test -e out/it; do sleep 0.01; done; echo goes on"),
        serde_json::json!(format!("! ( {STAYS} )")),
    ));
    // Where nobody checks, it writes: `later` is sure of that.
    let did = sandbox.wf(&["run", "plan.md"]).exits(0);
    did.says("1 verified");
    nothing_runs(&sandbox);
}

#[test]
fn what_stood_still_for_a_check_goes_on_when_the_engine_dies() {
    let check = "    verify: [{name: waits, run: sleep 60}]\n";
    let sandbox = plan(&format!("{RESTLESS}{check}"));
    let mut engine = sandbox.start(&["run", "plan.md"]);
    until("the worker's writer stands still", || writers(&sandbox) == ["T"]);
    engine.kill().unwrap();
    engine.wait().unwrap();
    until("it goes on", || writers(&sandbox).iter().any(|state| state != "T"));
    sandbox.wf(&["cancel", "--last"]);
    until("it has ended", || writers(&sandbox).is_empty());
}

/// The states of the shells that go on writing in a workspace.
fn writers(sandbox: &Sandbox) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let folders = processes.map(|process| process.path());
    let writes = |folder: &std::path::PathBuf| {
        let words = std::fs::read(folder.join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        words.starts_with("sh\0-c\0while :;")
            && std::fs::read_link(folder.join("cwd")).ok().as_deref() == Some(sandbox.path())
    };
    let stats = folders.filter(writes).filter_map(|folder| std::fs::read_to_string(folder.join("stat")).ok());
    let states = stats.filter_map(|stat| {
        let (_, rest) = stat.rsplit_once(") ")?;
        rest.get(..1).map(ToOwned::to_owned)
    });
    states.collect()
}

#[test]
fn a_process_without_its_first_thread_is_found_and_ended() {
    let steps = "  - id: serve\n    run: |\n      setsid python3 -c '\n      import ctypes, threading, time\n      \
        threading.Thread(target=time.sleep, args=(1000,)).start()\n      ctypes.CDLL(None).pthread_exit(None)' > /dev/null 2>&1 &\n      sleep 0.3\n";
    let sandbox = plan(steps);
    sandbox.wf(&["run", "plan.md"]).exits(0);
    nothing_runs(&sandbox);
    let alive = std::fs::read_dir("/proc").unwrap().flatten().any(|process| {
        let tasks = std::fs::read_dir(process.path().join("task"));
        tasks.into_iter().flatten().flatten().any(|task| {
            let cwd = std::fs::read_link(task.path().join("cwd"));
            cwd.is_ok_and(|cwd| cwd == sandbox.path())
        })
    });
    assert!(!alive);
}

#[test]
fn a_detached_process_outlives_its_run_and_the_death_of_the_supervisor() {
    let sandbox = plan(
        "  - id: start\n    detach: true\n    run: |\n      setsid sleep 300 > /dev/null 2>&1 &\n      echo $! > pid\n      \
         sleep 0.1\n  - {id: kill, depends_on: [start], run: kill -9 $PPID}\n",
    );
    sandbox.wf(&["run", "plan.md"]).exits(6).says("the supervisor process of the steps died");
    let pid: i32 = sandbox.read("pid").trim().parse().unwrap();
    let listed = sandbox.wf(&["doctor"]).out;
    let killed = rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    assert!(killed.is_ok(), "it is gone");
    assert!(listed.contains(&format!("{pid} · sleep 300 · left by step start of run ")), "{listed}");
}

#[test]
fn a_run_is_cancelled_though_runs_nested_in_it_wait_for_people() {
    let sandbox = Sandbox::new();
    let uses = |id: &str, plan: &str| {
        format!("---\nkind: plan\nid: {id}\nsteps:\n  - {{id: inner, uses: {plan}}}\n---\n")
    };
    sandbox
        .file(
            "asks.md",
            "---\nkind: plan\nid: asks\nsteps:\n  - {id: agree, approve: {message: 'Go on?'}}\n---\n",
        )
        .file("middle.md", uses("middle", "asks.md"))
        .file("outer.md", uses("outer", "middle.md"));
    // Whether the nested runs hear of it in time was a matter of luck.
    for plan in ["middle.md", "outer.md"].into_iter().cycle().take(8) {
        sandbox.wf(&["run", plan]).exits(5);
        sandbox.wf(&["cancel", "--last"]).exits(0);
        sandbox.wf(&["show", "--last"]).says("cancelled");
    }
}
