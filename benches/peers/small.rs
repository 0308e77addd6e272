//! How make, ninja, xargs, GNU parallel, just and go-task are told what to do.

use std::{fmt::Write as _, path::Path};

use super::{
    load::{Kind, Load},
    ours::{megabyte, redirected},
    program::{Job, words, write},
};

const NO_LOGS: &str = "it keeps no logs";
const NO_STATE: &str = "it keeps no state";
const NO_GRAPH: &str = "it has no graph";
const NO_CHECK: &str = "it checks nothing apart from a run";
const SHARES: &str = "its runs cannot share a folder";

fn job(argv: Vec<String>) -> Job {
    Job { again: argv.clone(), argv, sound: None }
}

/// What a step does, and for programs that look at files, that it is done.
fn stamped(load: &Load, step: usize) -> String {
    let command = load.command(step);
    if load.stamps() { format!("{command} && touch s{step}") } else { command }
}

/// make. Where nothing is stamped, no target ever exists, so that all of them are made.
pub fn make(load: &Load, dir: &Path, file: &str) -> Result<Job, &'static str> {
    if load.kind == Kind::Logs {
        return Err(NO_LOGS);
    }
    let steps = 0..load.needs.len();
    let mut text = String::from(".PHONY: all\nall:");
    steps.clone().for_each(|at| text += &format!(" s{at}"));
    for at in steps {
        let needs = load.names(at, "s", " ");
        let _ = write!(text, "\ns{at}: {needs}\n\t@{}\n", stamped(load, at));
    }
    write(dir, "Makefile", text);
    let jobs = format!("-j{}", load.jobs);
    Ok(job(match load.kind {
        Kind::Check => words(&[file, "-n"]),
        _ => words(&[file, &jobs]),
    }))
}

/// ninja. It prints what a step prints once that has ended, and keeps nothing of it.
pub fn ninja(load: &Load, dir: &Path, file: &str) -> Result<Job, &'static str> {
    if matches!(load.kind, Kind::Many(_)) {
        return Err(SHARES);
    }
    let mut text = String::from("rule r\n  command = $c\n");
    for at in 0..load.needs.len() {
        let needs = load.names(at, "s", " ");
        let _ = writeln!(text, "build s{at}: r {needs}\n  c = {}", stamped(load, at));
    }
    write(dir, "build.ninja", text);
    if load.kind == Kind::Logs {
        write(dir, "mb", megabyte());
    }
    let jobs = format!("-j{}", load.jobs);
    Ok(job(match load.kind {
        Kind::Check => words(&[file, "-n"]),
        _ => words(&[file, "--quiet", &jobs]),
    }))
}

/// A line for each step. A chain is run one at a time; other graphs cannot be.
fn lines(load: &Load, dir: &Path) -> Result<String, &'static str> {
    let line = |step| format!("{}\n", load.command(step));
    let steps = 0..load.needs.len();
    write(dir, "steps", steps.map(line).collect::<String>());
    if load.kind == Kind::Logs {
        write(dir, "mb", megabyte());
    }
    match load.kind {
        Kind::Check => Err(NO_CHECK),
        Kind::Many(_) => Err(SHARES),
        _ if load.is_fan() => Ok(format!("-P{}", load.jobs)),
        _ if load.is_chain() => Ok("-P1".into()),
        _ => Err(NO_GRAPH),
    }
}

/// xargs; logs are kept as the shell writes them into files.
pub fn xargs(load: &Load, dir: &Path, file: &str) -> Result<Job, &'static str> {
    let jobs = lines(load, dir)?;
    if load.stamps() {
        return Err(NO_STATE);
    }
    if load.kind == Kind::Logs {
        write(dir, "steps", redirected(load, ""));
    }
    let each = ["-a", "steps", "-d", "\\n", "-n1", &jobs, "/bin/sh", "-c"];
    Ok(job([&[file][..], &each].concat().into_iter().map(str::to_owned).collect()))
}

/// GNU parallel with a list of what is done, which it writes as it goes.
pub fn parallel(load: &Load, dir: &Path, file: &str) -> Result<Job, &'static str> {
    let jobs = lines(load, dir)?;
    let mut argv = vec![file, "--will-cite", &jobs, "--halt", "now,fail=1", "--joblog", "done"];
    if load.kind == Kind::Logs {
        argv.extend(["--results", "logs"]);
    }
    let go_on = [&argv[..], &["--resume-failed", "-a", "steps"]].concat();
    argv.extend(["-a", "steps"]);
    Ok(Job { argv: words(&argv), again: words(&go_on), sound: None })
}

/// just. It has no limit of what runs at once.
pub fn just(load: &Load, dir: &Path, file: &str) -> Result<Job, &'static str> {
    match load.kind {
        Kind::Logs => return Err(NO_LOGS),
        Kind::Check => return Err(NO_CHECK),
        Kind::Many(_) => return Err(SHARES),
        Kind::Resume | Kind::Nothing => return Err(NO_STATE),
        Kind::New | Kind::Again => {}
    }
    let steps = 0..load.needs.len();
    let mut text = String::from("set shell := [\"/bin/sh\", \"-c\"]\n[parallel]\nall:");
    steps.clone().for_each(|at| text += &format!(" s{at}"));
    for at in steps {
        let needs = load.names(at, "s", " ");
        let command = load.command(at);
        let _ = write!(text, "\n\n[parallel]\ns{at}: {needs}\n    @{command}\n");
    }
    write(dir, "justfile", text);
    Ok(job(words(&[file, "--justfile", "justfile", "all"])))
}

/// go-task, with each task run once, and known by its file to be done.
pub fn task(load: &Load, dir: &Path, file: &str) -> Result<Job, &'static str> {
    match load.kind {
        Kind::Logs => return Err(NO_LOGS),
        Kind::Check => return Err(NO_CHECK),
        Kind::Many(_) => return Err(SHARES),
        Kind::New | Kind::Again | Kind::Resume | Kind::Nothing => {}
    }
    let all: Vec<String> = (0..load.needs.len()).map(|at| format!("s{at}")).collect();
    let all = all.join(", ");
    let mut text = format!("version: '3'\nsilent: true\ntasks:\n  all: {{deps: [{all}]}}\n");
    for at in 0..load.needs.len() {
        let (needs, command) = (load.names(at, "s", ", "), stamped(load, at));
        let status = if load.stamps() { format!(", status: [test -f s{at}]") } else { String::new() };
        let _ = writeln!(text, "  s{at}: {{run: once, deps: [{needs}], cmds: [{command:?}]{status}}}");
    }
    write(dir, "Taskfile.yml", text);
    let jobs = load.jobs.to_string();
    Ok(job(words(&[file, "-C", &jobs, "all"])))
}
