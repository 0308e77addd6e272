//! One command that runs the goals of several workspaces, and serves the pages of all of them.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::{Daemon, EACH_SECOND, ended, goal, place, service::get, soon};
use crate::support::{Did, Sandbox};

/// A workspace with a goal that is due each second.
fn kept() -> Sandbox {
    let sandbox = place();
    goal(&sandbox, &format!("{EACH_SECOND}verify: [{{name: ok, run: \"true\"}}]\n"));
    sandbox
}

/// Returns the processes of daemons in a workspace.
fn daemons_of(sandbox: &Sandbox) -> Vec<Pid> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|process| {
        let cwd = std::fs::read_link(process.path().join("cwd")).ok()?;
        let arguments = std::fs::read_to_string(process.path().join("cmdline")).ok()?;
        let is_it = cwd == sandbox.path() && arguments.contains("\0daemon\0");
        let pid = process.file_name().to_str()?.parse().ok()?;
        is_it.then(|| Pid::from_raw(pid))?
    })
    .collect()
}

/// Starts the daemons of two workspaces, from a folder that is none of them.
fn both(elsewhere: &Sandbox, shop: &Sandbox, lab: &Sandbox) -> Daemon {
    for sandbox in [shop, lab] {
        let mut accept = elsewhere.unaccepted(&["goal", "accept", "--all", "--yes"]);
        Did::of(accept.current_dir(sandbox.path())).exits(0);
    }
    let folders = [format!("shop={}", shop.path().display()), format!("lab={}", lab.path().display())];
    let mut options = vec!["--serve", "--listen", "127.0.0.1:0"];
    options.extend(folders.iter().flat_map(|folder| ["--workspace", folder]));
    Daemon::start(elsewhere, &options)
}

#[test]
fn one_command_runs_the_goals_of_several_workspaces_and_serves_them() {
    let (elsewhere, shop, lab) = (Sandbox::new(), kept(), kept());
    let mut daemon = both(&elsewhere, &shop, &lab);
    let line = daemon.says("the pages are at http://");
    let address = line.split_once("http://").unwrap().1.split(';').next().unwrap().to_owned();
    for sandbox in [&shop, &lab] {
        soon("its goal is kept", || ended(sandbox, "healthy") > 0);
        assert_eq!(daemons_of(sandbox).len(), 1, "it has a daemon of its own");
    }
    assert!(daemon.says("workspace lab · ").contains("Z workspace lab · "), "the log says where");
    let link = lab.wf(&["serve", "link"]).exits(0).out;
    let path = link.trim().split_once(&address).expect("it leads to that server").1;
    assert!(get(&address, path).starts_with("HTTP/1.1 200 "));
    // Two daemons do not lead in one workspace.
    let second = Did::of(&mut shop.unaccepted(&["daemon", "--once"]));
    second.exits(6).says("another daemon is active in this workspace");
    // One that dies takes nothing from the other, and is started again.
    let [first] = daemons_of(&lab)[..] else { panic!("it has one daemon") };
    kill_process(first, Signal::KILL).unwrap();
    assert!(daemon.says("its daemon ended").contains("workspace lab · its daemon ended by a signal"));
    soon("there is another one", || daemons_of(&lab).iter().any(|pid| *pid != first));
    let before = ended(&lab, "healthy");
    soon("its goal is kept on", || ended(&lab, "healthy") > before);
    daemon.ends();
    assert!(daemons_of(&shop).is_empty() && daemons_of(&lab).is_empty(), "all have ended");
    assert_eq!(get(&address, "/"), "", "nobody listens any more");
}

#[test]
fn no_daemon_outlives_the_command_that_started_it() {
    let (elsewhere, shop, lab) = (Sandbox::new(), kept(), kept());
    // In one of them, another daemon leads; it waits there, and takes over.
    let earlier = Daemon::start(&lab, &["-q"]);
    soon("the earlier one leads", || ended(&lab, "healthy") > 0);
    let mut daemon = both(&elsewhere, &shop, &lab);
    let waits = daemon.says("another daemon is active");
    assert!(waits.contains("workspace lab · another daemon is active; waiting for it to exit"), "{waits}");
    soon("the other one leads", || ended(&shop, "healthy") > 0);
    earlier.ends();
    let before = ended(&lab, "healthy");
    soon("it takes over", || ended(&lab, "healthy") > before);
    daemon.signal(Signal::KILL);
    daemon.child.wait().unwrap();
    soon("none is left", || daemons_of(&shop).is_empty() && daemons_of(&lab).is_empty());
}

#[test]
fn several_workspaces_are_served_or_the_mistake_is_said() {
    let sandbox = Sandbox::new();
    let refused = |options: &[&str], why: &str| {
        let mut command = sandbox.command(&[&["daemon"], options].concat());
        Did::of(command.stdin(Stdio::null())).exits(2).says(why);
    };
    refused(&["--workspace", "."], "--serve");
    refused(&["--serve", "--workspace", ".", "--health", "127.0.0.1:0"], "--health");
    refused(&["--serve", "--workspace", ".", "--workspace", "."], "is named twice");
    let unit = ["daemon", "--unit", "user", "--serve", "-j", "2", "--workspace", "lab=sub"];
    let unit = sandbox.wf(&unit).exits(0).out;
    let folder = sandbox.at("sub");
    let words =
        format!("\"daemon\" \"--jobs\" \"2\" \"--serve\" \"--workspace\" \"lab={}\"", folder.display());
    assert!(unit.contains(&words), "{unit}");
    let orphan = sandbox.wf(&["daemon", "--parent", "1"]);
    orphan.exits(6).says("the process that started this daemon has ended");
}

#[test]
fn a_daemon_that_hangs_does_not_hold_up_the_end_of_all() {
    let (elsewhere, shop, lab) = (Sandbox::new(), kept(), kept());
    let mut daemon = both(&elsewhere, &shop, &lab);
    for sandbox in [&shop, &lab] {
        soon("its goal is kept", || ended(sandbox, "healthy") > 0);
    }
    let [hanging] = daemons_of(&lab)[..] else { panic!("it has one daemon") };
    kill_process(hanging, Signal::STOP).unwrap();
    let pid = Pid::from_raw(i32::try_from(daemon.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    soon("the other one ends", || daemons_of(&shop).is_empty());
    assert_eq!(daemons_of(&lab), [hanging]);
    // The second request leaves no time to runs.
    kill_process(pid, Signal::TERM).unwrap();
    assert!(daemon.says("does not end").contains("workspace lab · its daemon does not end; it is killed"));
    soon("all have ended", || daemons_of(&lab).is_empty());
    assert!(daemon.child.wait().unwrap().success());
}
