//! How `wf` and the floors are told what to do.

use std::{fmt::Write as _, path::Path, sync::OnceLock};

use super::{
    load::{Kind, Load},
    program::{Job, words, write},
};

/// The program that is measured as wf, if it is not the one that cargo built beside this one.
static WF: OnceLock<String> = OnceLock::new();

/// Chooses which wf is measured. Called once, before anything is.
pub fn choose(file: &Path) {
    let _ = WF.set(file.to_string_lossy().into_owned());
}

/// The wf that is measured.
pub fn released() -> &'static str {
    WF.get().map_or(env!("CARGO_BIN_EXE_wf"), String::as_str)
}

/// One megabyte in lines, which a step prints.
pub fn megabyte() -> String {
    format!("{}\n", "x".repeat(99)).repeat(10_000)
}

fn plan(load: &Load, dir: &Path, more: &str) {
    let jobs = load.jobs;
    let mut text = format!("---\nkind: plan\nid: bench\npolicy: {{max_parallel: {jobs}}}\nsteps:\n");
    for step in 0..load.needs.len() {
        let needs = load.names(step, "s", ", ");
        let run = load.command(step);
        let _ = writeln!(text, "  - {{id: s{step}, run: {run:?}, depends_on: [{needs}]{more}}}");
    }
    write(dir, "plan.md", text + "---\n");
    write(dir, "wf.yaml", "# nothing\n");
    if load.kind == Kind::Logs {
        write(dir, "mb", megabyte());
    }
}

/// `wf run`; what failed or is done is gone on with by `wf retry`.
#[expect(
    clippy::unnecessary_wraps,
    reason = "all programs are prepared alike, and others cannot do everything"
)]
pub fn wf(load: &Load, dir: &Path, _: &str) -> Result<Job, &'static str> {
    plan(load, dir, "");
    let run = words(&[released(), "run", "-q", "--state", "state", "plan.md"]);
    let audit = words(&[released(), "audit", "verify", "--state", "state"]);
    Ok(Job {
        argv: match load.kind {
            Kind::Check => words(&[released(), "check", "plan.md"]),
            _ => run,
        },
        again: words(&[released(), "retry", "-q", "--state", "state", "--last"]),
        sound: (load.kind != Kind::Check).then_some(audit),
    })
}

/// `wf run` of steps with a cache, when nothing that they depend on has changed.
pub fn wf_cached(load: &Load, dir: &Path, own: &str) -> Result<Job, &'static str> {
    if load.kind != Kind::Nothing {
        return Err("only for what is done already");
    }
    let job = wf(load, dir, own)?;
    plan(load, dir, ", cache: {inputs: []}");
    Ok(Job { again: job.argv.clone(), ..job })
}

/// `wf run` with what survives the death of the engine, and not a loss of power.
pub fn wf_normal(load: &Load, dir: &Path, own: &str) -> Result<Job, &'static str> {
    if matches!(load.kind, Kind::Check) {
        return Err("it writes nothing here");
    }
    let job = wf(load, dir, own);
    write(dir, "wf.yaml", "durability: normal\n");
    job
}

/// The floor. It keeps nothing: what is done already is left out of its list.
#[expect(
    clippy::unnecessary_wraps,
    reason = "all programs are prepared alike, and others cannot do everything"
)]
pub fn floor(load: &Load, dir: &Path, own: &str) -> Result<Job, &'static str> {
    let jobs = load.jobs.to_string();
    let run = |list| words(&[own, "floor", &jobs, list]);
    let check = words(&[own, "floor-check", "list"]);
    let mut job = Job { argv: run("list"), again: run("list"), sound: None };
    write(dir, "list", load.list(0));
    match load.kind {
        Kind::Check => job.argv = check,
        Kind::Nothing => job.again = check,
        Kind::Resume => {
            write(dir, "rest", load.list(load.needs.len() / 2));
            job.again = run("rest");
        }
        Kind::Logs => {
            write(dir, "list", redirected(load, "\t"));
            write(dir, "mb", megabyte());
        }
        Kind::New | Kind::Again | Kind::Many(_) => {}
    }
    Ok(job)
}

/// A line for each step, that lets the shell write what it prints into a file.
pub fn redirected(load: &Load, before: &str) -> String {
    let line = |step| format!("{before}{} > log.{step}\n", load.command(step));
    (0..load.needs.len()).map(line).collect()
}

/// The floor that remembers.
pub fn floor_wal(load: &Load, dir: &Path, own: &str) -> Result<Job, &'static str> {
    let jobs = load.jobs.to_string();
    write(dir, "list", load.list(0));
    if matches!(load.kind, Kind::New) {
        let argv = words(&[own, "floor-wal", &jobs, "list", "rows.db"]);
        return Ok(Job { again: argv.clone(), argv, sound: None });
    }
    Err("it only runs what is new")
}
