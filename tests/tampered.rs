//! Somebody who may write to the state changes what lies beside the log. It is found and named, and
//! nothing that is decided or signed follows it.

mod decisions;
mod logs;
mod projections;
mod repaired;
mod schema;
mod stored;
mod uses;

use std::path::Path;

use crate::support::{Did, Sandbox};

const PLAN: &str = "---
kind: plan
id: release
policy: {max_parallel: 1, on_failure: continue}
params: {day: {type: string, default: monday}}
steps:
  - id: build
    run: echo \"$WF_PARAM_DAY\" > out.txt; echo rows=3 >> \"$WF_OUTPUT\"
    outputs: {rows: {type: integer}}
    artifacts: [out.txt]
    verify: [{name: there, run: test -s out.txt}]
  - {id: inner, uses: inner.md}
  - {id: flaky, run: 'exit 3'}
---
";

const INNER: &str = "---
kind: plan
id: inner
steps:
  - id: each
    for_each: [a, b]
    env: {ITEM: \"{{ item }}\"}
    run: echo \"$ITEM\" > \"$ITEM.txt\"
    artifacts: ['{{ item }}.txt']
verify:
  - {name: there, run: test -s a.txt}
---
";

/// A workspace with a run that failed in part, all of it moved into one file of a database.
fn lived() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", PLAN).file("inner.md", INNER);
    sandbox.wf(&["run", "plan.md", "-q"]).exits(1);
    settle(&sandbox);
    sandbox
}

/// Moves SQLite's log into the database.
fn settle(sandbox: &Sandbox) {
    let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
    let moved = sandbox.database().query_row(truncate, [], |_| Ok(()));
    moved.unwrap();
}

/// The database as it is, to be put back after an attack.
struct Copy(Vec<u8>);

impl Copy {
    fn of(sandbox: &Sandbox) -> Self {
        settle(sandbox);
        Self(std::fs::read(sandbox.at(".wf/state.db")).unwrap())
    }

    fn put_back(&self, sandbox: &Sandbox) {
        for log in ["state.db-wal", "state.db-shm"] {
            let _ = std::fs::remove_file(sandbox.at(".wf").join(log));
        }
        std::fs::write(sandbox.at(".wf/state.db"), &self.0).unwrap();
    }
}

/// Does as an attacker does who knows SQL.
#[track_caller]
pub(crate) fn sql(sandbox: &Sandbox, text: &str) {
    let database = sandbox.database();
    database.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    database.execute_batch(text).unwrap();
}

fn texts(sandbox: &Sandbox, query: &str) -> Vec<String> {
    let database = sandbox.database();
    let mut statement = database.prepare(query).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Asserts that both commands that look at all of the state find something and say what, and that none of it is
/// backed up.
#[track_caller]
pub(crate) fn named(sandbox: &Sandbox, attack: &str, words: &[&str]) {
    let doctor = sandbox.wf(&["doctor", "--full"]);
    let audit = sandbox.wf(&["audit", "verify", "--full"]);
    assert_eq!((doctor.code, audit.code), (Some(6), Some(1)), "{attack}\n{}{}", doctor.all(), audit.all());
    let backup = sandbox.wf(&["backup", "tampered.tar"]);
    assert_eq!(backup.code, Some(6), "{attack}\n{}", backup.all());
    assert!(!sandbox.at("tampered.tar").exists(), "{attack}");
    for word in words {
        let both = doctor.all().contains(word) && audit.all().contains(word);
        assert!(both, "{attack}: {word:?} is not in\n{}{}", doctor.all(), audit.all());
    }
}

#[track_caller]
pub(crate) fn clean(sandbox: &Sandbox) {
    let state = |did: &Did| did.all().lines().find(|line| line.contains("state")).map(str::to_owned);
    let doctor = sandbox.wf(&["doctor", "--full"]);
    assert!(state(&doctor).is_some_and(|line| line.contains("hash chain OK")), "{}", doctor.all());
    sandbox.wf(&["audit", "verify", "--full"]).exits(0);
}

/// The files below a folder.
fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}
