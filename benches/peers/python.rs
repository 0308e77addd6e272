//! How doit, luigi, snakemake and dbos are told what to do: scripts that read the floor's list.

use std::path::Path;

use super::{
    load::{Kind, Load},
    program::{Job, words, write},
};

const LIST: &str = include_str!("python/steps.py");

fn prepared(load: &Load, dir: &Path, name: &str, script: &str) -> Result<(), &'static str> {
    match load.kind {
        Kind::Logs => return Err("it keeps no logs"),
        Kind::Check => return Err("it checks nothing apart from a run"),
        Kind::Many(_) => return Err("its runs cannot share a folder"),
        Kind::New | Kind::Again | Kind::Resume | Kind::Nothing => {}
    }
    write(dir, "list", load.list(0));
    write(dir, "steps.py", LIST);
    write(dir, name, script);
    Ok(())
}

fn job(argv: &[&str]) -> Job {
    Job { argv: words(argv), again: words(argv), sound: None }
}

/// doit, with its record in SQLite, which it writes when it ends.
pub fn doit(load: &Load, dir: &Path, python: &str) -> Result<Job, &'static str> {
    prepared(load, dir, "dodo.py", include_str!("python/dodo.py"))?;
    let jobs = load.jobs.to_string();
    Ok(job(&[python, "-m", "doit", "run", "-n", &jobs, "-P", "thread"]))
}

/// luigi, with its own scheduler and an empty file for each task that is done.
pub fn luigi(load: &Load, dir: &Path, python: &str) -> Result<Job, &'static str> {
    prepared(load, dir, "tasks.py", include_str!("python/tasks.py"))?;
    let jobs = load.jobs.to_string();
    Ok(job(&[python, "tasks.py", &jobs]))
}

/// snakemake, with an empty file for each step that is done.
pub fn snakemake(load: &Load, dir: &Path, python: &str) -> Result<Job, &'static str> {
    prepared(load, dir, "Snakefile", include_str!("python/Snakefile"))?;
    let jobs = load.jobs.to_string();
    Ok(job(&[python, "-m", "snakemake", "-c", &jobs, "--quiet", "all"]))
}

/// dbos, with its record in SQLite; its process ends when a step fails, and the next one goes on.
pub fn dbos(load: &Load, dir: &Path, python: &str) -> Result<Job, &'static str> {
    prepared(load, dir, "flow.py", include_str!("python/flow.py"))?;
    let jobs = load.jobs.to_string();
    Ok(job(&[python, "flow.py", &jobs]))
}
