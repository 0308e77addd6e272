//! `wf watch` on a real terminal: that of `script`, which has one of its own.

use std::{
    io::Write as _,
    process::{Child, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    decisions::last,
    support::{Did, Sandbox, until},
};

/// What a program writes to take the whole terminal, and to give it back.
const TAKEN: &str = "\u{1b}[?1049h";
const GIVEN_BACK: &str = "\u{1b}[?1049l";

const PLAN: &str = "---\nkind: plan\nid: talks\nsteps:\n\
    \x20 - {id: talk, run: 'echo hello; while ! test -e go; do sleep 0.05; done'}\n\
    \x20 - {id: after, depends_on: [talk], run: 'true'}\n---\n";

/// Starts `wf watch` on a terminal of some size. What it writes is in the file `seen`.
fn watch(place: &Sandbox, arguments: &str) -> Child {
    let program = env!("CARGO_BIN_EXE_wf");
    let command = format!("stty cols 100 rows 20; exec {program} watch {arguments}");
    let mut script = place.program("script");
    script.args(["-q", "-f", "-e", "-c", &command, "seen"]).env("TERM", "xterm-256color");
    script.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    script.spawn().expect("`script` (Debian: bsdutils) can be started")
}

fn press(terminal: &mut Child, keys: &str) {
    let stdin = terminal.stdin.as_mut().unwrap();
    stdin.write_all(keys.as_bytes()).unwrap();
    stdin.flush().unwrap();
}

/// Starts a run, and returns its process once it writes.
fn started(place: &Sandbox) -> Child {
    place.file("talks.md", PLAN);
    let engine = place.start(&["run", "talks.md", "-q"]);
    until("the step writes", || place.wf(&["logs", "--last"]).out.contains("hello"));
    engine
}

/// Returns what it wrote after it gave the terminal back.
fn said_last(place: &Sandbox) -> String {
    let seen = place.read("seen");
    let (_, after) = seen.rsplit_once(GIVEN_BACK).unwrap_or_else(|| panic!("{seen:?}"));
    let said = after.lines().find(|line| line.contains("run ")).unwrap_or_else(|| panic!("{after:?}"));
    // A code that shows the cursor may stand before it.
    said.split_once("run ").map(|(_, rest)| format!("run {rest}")).unwrap()
}

#[test]
fn a_run_is_followed_to_its_end_on_a_terminal() {
    let place = Sandbox::new();
    let mut engine = started(&place);
    let mut terminal = watch(&place, "--last");
    until("it is drawn", || place.read("seen").contains("talk") && place.read("seen").contains("quit"));
    press(&mut terminal, "l");
    until("the output is shown", || place.read("seen").contains("hello"));
    place.file("go", "");
    assert!(engine.wait().unwrap().success());
    press(&mut terminal, "q");
    assert!(terminal.wait().unwrap().success());
    assert!(place.read("seen").contains(TAKEN), "{:?}", place.read("seen"));
    assert_eq!(said_last(&place).trim(), format!("run {} · succeeded", &last(&place)[..8]));
}

#[test]
fn a_run_is_cancelled_from_the_terminal() {
    let place = Sandbox::new();
    let mut engine = started(&place);
    let mut terminal = watch(&place, "--last");
    until("it is drawn", || place.read("seen").contains("quit"));
    press(&mut terminal, "c");
    until("it asks", || place.read("seen").contains("Cancel the run?"));
    press(&mut terminal, "y");
    assert_eq!(engine.wait().unwrap().code(), Some(130), "{}", place.wf(&["show", "--last"]).all());
    until("it answers", || place.read("seen").contains("being cancelled"));
    // Ctrl-C leaves the screen, as q does.
    press(&mut terminal, "\u{3}");
    assert!(terminal.wait().unwrap().success(), "{:?}", place.read("seen"));
    assert_eq!(said_last(&place).trim(), format!("run {} · cancelled", &last(&place)[..8]));
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let place = Sandbox::new();
    place.file("talks.md", PLAN).file("go", "");
    place.wf(&["run", "talks.md"]).exits(0);
    let mut terminal = watch(&place, "--last");
    until("it is drawn", || place.read("seen").contains("quit"));
    let children = format!("/proc/{0}/task/{0}/children", terminal.id());
    let child = std::fs::read_to_string(children).unwrap();
    let pid = child.split_whitespace().next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
    kill_process(pid.expect("`script` has a child"), Signal::TERM).unwrap();
    assert!(terminal.wait().unwrap().success());
    assert!(place.read("seen").contains(GIVEN_BACK), "{:?}", place.read("seen"));
}

#[test]
fn without_a_terminal_it_says_what_prints_lines() {
    let place = Sandbox::new();
    place.file("talks.md", PLAN).file("go", "");
    place.wf(&["watch", "--last"]).exits(2);
    place.wf(&["run", "talks.md"]).exits(0);
    let refused = place.wf(&["watch", "--last"]).exits(2).says("needs a terminal").says("--follow prints");
    assert!(!refused.all().contains('\u{1b}'), "{refused:?}");
    let mut dumb = place.program("script");
    dumb.args(["-qec", &format!("{} watch --last", env!("CARGO_BIN_EXE_wf")), "/dev/null"]);
    let refused = Did::of(dumb.env("TERM", "dumb")).says("needs a terminal");
    assert!(!refused.all().contains(TAKEN), "{refused:?}");
}
