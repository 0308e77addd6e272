//! The daemon with people around it: what they commit, pause, approve, answer, and are told.

mod accept;
mod blocked;
mod many;
mod people;
mod service;
mod several;

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::Sandbox;

/// Waits for something to become true: a minute, for machines on which much goes on.
#[track_caller]
fn soon(what: &str, mut is: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if is() {
            return;
        }
        std::thread::sleep(Duration::from_millis(30));
    }
    panic!("never: {what}");
}

/// A daemon that is asked to end, and killed with its cycles if a test fails.
struct Daemon {
    child: Child,
    workspace: std::path::PathBuf,
}

impl Daemon {
    fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut command = sandbox.command(&["daemon"]);
        command.args(args).stdout(Stdio::null());
        let child = command.spawn().unwrap();
        let workspace = sandbox.path().to_owned();
        Self { child, workspace }
    }

    /// The first line that it says with something in it.
    fn says(&mut self, wanted: &str) -> String {
        let lines = BufReader::new(self.child.stderr.as_mut().unwrap()).lines();
        let found = lines.map(Result::unwrap).find(|line| line.contains(wanted));
        found.expect("it says that")
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    #[track_caller]
    fn ends(mut self) {
        self.signal(Signal::TERM);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for pid in cycles_of(&self.workspace) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The processes of cycles in a workspace.
fn cycles_of(workspace: &std::path::Path) -> Vec<Pid> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|process| {
        let cwd = std::fs::read_link(process.path().join("cwd")).ok()?;
        let arguments = std::fs::read_to_string(process.path().join("cmdline")).ok()?;
        let pid = process.file_name().to_str()?.parse().ok()?;
        let is_it = cwd == workspace && arguments.contains("goal\0run");
        is_it.then(|| Pid::from_raw(pid))?
    })
    .collect()
}

/// A workspace in which checks leave traces.
fn place() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("wf.yaml", "sandbox: off\n");
    sandbox
}

/// Writes the goal `kept`, due every second, with more front matter.
fn goal(sandbox: &Sandbox, more: &str) {
    let text = format!("---\nkind: goal\nid: kept\ntimezone: UTC\n{more}---\n");
    sandbox.file("goals/kept.md", text);
}

const EACH_SECOND: &str = "schedule: \"* * * * * *\"\n";

/// What the ledger answers to a question for a number; 0 as long as there is none.
fn count(sandbox: &Sandbox, sql: &str) -> i64 {
    if !sandbox.at(".wf/state.db").exists() {
        return 0;
    }
    let found = sandbox.database().query_row(sql, [], |row| row.get(0));
    found.unwrap_or_default()
}

/// How many cycles have ended so.
fn ended(sandbox: &Sandbox, health: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM reconciliations WHERE health = '{health}'");
    count(sandbox, &sql)
}

/// What the ledger answers to a question for words.
fn words(sandbox: &Sandbox, sql: &str) -> Vec<String> {
    let database = sandbox.database();
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// No two repairs of a goal went on side by side, none was done without its cycle.
#[track_caller]
fn one_by_one(sandbox: &Sandbox) {
    let beside = "SELECT count(*) FROM reconciliations a JOIN reconciliations b ON a.run < b.run
                  JOIN runs x ON x.id = a.repair_run JOIN runs y ON y.id = b.repair_run
                  WHERE x.created < coalesce(y.ended, 1e15) AND y.created < coalesce(x.ended, 1e15)";
    assert_eq!(count(sandbox, beside), 0);
}
