//! One kill, and what must be true afterwards.

use std::{os::unix::process::ExitStatusExt as _, process::Output};

use serde_json::Value;

use super::plans::Scene;
use crate::support::{Sandbox, until};

/// How often a run is started again before somebody says that it does not converge.
const ENGINES: usize = 6;

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Engine,
    Keeper,
}

impl Role {
    pub fn word(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Keeper => "keeper",
        }
    }
}

/// What a run leaves: how it ended, and what ran how often.
#[derive(Debug, PartialEq)]
pub struct End {
    state: Value,
    ran: Vec<String>,
}

/// How a scene ends if nobody is killed.
pub fn uninterrupted(scene: &Scene) -> End {
    let sandbox = prepared(scene);
    let did = sandbox.wf(&["run", "plan.md"]);
    assert_eq!(did.code, Some(scene.code), "{}: {}", scene.name, did.all());
    end(&sandbox)
}

/// The points that a process passes while a scene runs.
pub fn points(scene: &Scene, role: Role) -> Vec<String> {
    let sandbox = prepared(scene);
    let list = tempfile::NamedTempFile::new().unwrap();
    let mut command = sandbox.command(&["run", "plan.md"]);
    command.env("WF_CRASH", format!("{}:list={}", role.word(), list.path().display()));
    command.output().unwrap();
    let points = std::fs::read_to_string(list.path()).unwrap();
    points.lines().map(str::to_owned).collect()
}

/// Kills a process at its `at`th point and starts the program again until it ends.
pub fn trial(scene: &Scene, role: Role, at: usize, expected: &End) -> Result<(), String> {
    let sandbox = prepared(scene);
    let what = format!("{}, {} killed at point {at}", scene.name, role.word());
    let mut told = run(&sandbox, &["run", "plan.md"], Some(&format!("{}:{at}", role.word())));
    for engine in 0.. {
        if told.status.code() == Some(scene.code) {
            break;
        }
        if engine == ENGINES {
            return Err(format!("{what}: still not over\n{}", all(&told)));
        }
        // The next engine is killed too, somewhere else, and the last ones are not.
        let again = format!("engine:{}", 1 + (at * 7 + engine * 13) % 40);
        let again = (engine < 2).then_some(again.as_str());
        let recorded = sandbox.wf(&["runs"]).out.lines().count() > 1;
        let args: &[&str] = if recorded { &["resume", "--last"] } else { &["run", "plan.md"] };
        told = run(&sandbox, args, again);
        if all(&told).contains("has already finished") {
            break;
        }
    }
    let found = end(&sandbox);
    let wrong = |reason: String| format!("{what}: {reason}\n{}", all(&told));
    if found.state != expected.state {
        return Err(wrong(format!("{:#}\nis not\n{:#}", found.state, expected.state)));
    }
    same_work(role, &found.ran, &expected.ran).map_err(wrong)?;
    nothing_left(&sandbox).map_err(wrong)
}

fn run(sandbox: &Sandbox, args: &[&str], crash: Option<&str>) -> Output {
    let mut command = sandbox.command(args);
    command.envs(crash.map(|crash| ("WF_CRASH", crash)));
    let output = command.output().unwrap();
    let killed = output.status.signal();
    assert!(matches!(killed, None | Some(9)), "{}", all(&output));
    output
}

/// If only engines are killed, everything runs as often as it would have run anyway. What was
/// under way when its keeper was killed may run once more.
fn same_work(role: Role, found: &[String], expected: &[String]) -> Result<(), String> {
    let mut more = found.to_vec();
    for line in expected {
        match more.iter().position(|found| found == line) {
            Some(at) => drop(more.remove(at)),
            None => return Err(format!("`{line}` did not run: {found:?}")),
        }
    }
    let allowed_to_fail = match role {
        Role::Engine => 0,
        Role::Keeper => 3,
    };
    if more.len() > allowed_to_fail {
        return Err(format!("ran too often: {more:?}"));
    }
    Ok(())
}

/// No process, no keeper and no lock is left.
fn nothing_left(sandbox: &Sandbox) -> Result<(), String> {
    let folder = sandbox.at(".wf/keepers");
    let keepers = std::fs::read_dir(&folder).map_or(0, Iterator::count);
    let doctor = sandbox.wf(&["doctor"]);
    if doctor.code != Some(0) || doctor.out.contains("stale") {
        return Err(doctor.all());
    }
    let alive = || -> Vec<String> {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let here = processes.filter(|process| {
            let cwd = std::fs::read_link(process.path().join("cwd"));
            let args = std::fs::read_to_string(process.path().join("cmdline"));
            let path = sandbox.path().display().to_string();
            cwd.is_ok_and(|cwd| cwd == sandbox.path()) || args.is_ok_and(|args| args.contains(&path))
        });
        let shown = |process: std::fs::DirEntry| {
            std::fs::read_to_string(process.path().join("cmdline")).unwrap_or_default()
        };
        here.map(shown).collect()
    };
    until("every process is gone", || alive().is_empty());
    match keepers {
        0 => Ok(()),
        _ => Err(format!("{keepers} files are left in {}", folder.display())),
    }
}

fn prepared(scene: &Scene) -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, text) in &scene.files {
        sandbox.file(path, text);
    }
    sandbox
}

fn end(sandbox: &Sandbox) -> End {
    let shown = sandbox.wf(&["show", "--last", "--json"]);
    let state = serde_json::from_str(&shown.out).map(|state| {
        let mut state = reduced(&state);
        // They are told in the order in which they began.
        if let Some(steps) = state["steps"].as_array_mut() {
            steps.sort_by_key(|step| step["step"].to_string());
        }
        state
    });
    let mut ran: Vec<String> = sandbox.read("ran.txt").lines().map(str::to_owned).collect();
    ran.sort();
    // Numbers of attempts depend on what was interrupted.
    for line in ran.iter_mut().filter(|line| line.starts_with("try ")) {
        line.truncate(3);
    }
    End { state: state.unwrap_or(Value::String(shown.all())), ran }
}

/// What of a run's record must be the same: not its times, ids and attempts.
fn reduced(record: &Value) -> Value {
    const SAME: [&str; 8] = ["outcome", "counts", "outputs", "standing", "step", "state", "key", "failed"];
    match record {
        Value::Object(fields) => {
            let same = fields.iter().filter(|(name, value)| {
                SAME.contains(&name.as_str())
                    || ["steps", "items"].contains(&name.as_str()) && value.is_array()
            });
            same.map(|(name, value)| match name.as_str() {
                "outputs" | "counts" => (name.clone(), value.clone()),
                _ => (name.clone(), reduced(value)),
            })
            .collect()
        }
        Value::Array(values) => values.iter().map(reduced).collect(),
        other => other.clone(),
    }
}

fn all(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}{err}")
}
