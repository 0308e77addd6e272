//! The outcome of an attempt an earlier engine requested from a supervisor.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use wf_base::name::RunId;
use wf_core::machine::WorkExit;

use super::{
    journal::{self, JournalRecord},
    message::{RunAttempt, SupervisorReply, SupervisorRequest},
    request::{self, JobHooks, call},
};
use crate::{
    processes::{control_group, tree},
    work::attempt::ProcessOutcome,
    work_error::StopLevel,
};

/// The timeout for the exit of a supervisor.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The outcome of an earlier attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum RecalledOutcome {
    /// The work ended, some time ago or just now.
    Gone(ProcessOutcome),
    /// No supervisor ever began it.
    NeverBegan,
}

/// The search for supervisors of earlier engines.
#[derive(Clone, Copy, Debug)]
pub struct SupervisorSearch<'a> {
    /// The folder of journals and sockets.
    pub dir: &'a Path,
    /// The supervisor of this engine, which is excluded.
    pub own: Option<&'a str>,
    /// The supervisors to which the attempt may have been sent, if they are known and their
    /// journals cannot have been lost in a crash of the machine.
    pub supervisors: Option<&'a [String]>,
}

/// Finds the outcome of an attempt and waits for its end if it is still under way. Kills everything left of an attempt
/// after the death of its supervisor.
///
/// Afterwards no earlier supervisor begins anything of its run.
pub async fn recall(search: SupervisorSearch<'_>, attempt: &RunAttempt, hooks: JobHooks) -> RecalledOutcome {
    let mut record = None;
    let mut ids = Vec::new();
    for (supervisor, path) in journals(search.dir) {
        if search.own == Some(supervisor.as_str()) {
            continue;
        }
        seal(search.dir, &supervisor, &attempt.run).await;
        if let Ok(Some(entry)) = journal::read_record(&path, attempt) {
            record = Some((supervisor.clone(), path, entry));
        }
        ids.push(supervisor);
    }
    match record {
        Some((supervisor, path, entry)) => {
            let socket = journal::socket(search.dir, &supervisor);
            let ended = ending(&socket, &path, attempt, entry, hooks).await;
            RecalledOutcome::Gone(ended)
        }
        None if search.supervisors.is_some_and(|all| all.iter().all(|id| ids.contains(id))) => {
            RecalledOutcome::NeverBegan
        }
        None => RecalledOutcome::Gone(ProcessOutcome::without(WorkExit::Interrupted)),
    }
}

/// Waits until earlier supervisors have no work under way for a task; kills everything left by a
/// dead supervisor.
pub async fn outlast(search: SupervisorSearch<'_>, run: &RunId, place: &str) {
    for (supervisor, path) in journals(search.dir) {
        if search.own == Some(supervisor.as_str()) {
            continue;
        }
        let socket = journal::socket(search.dir, &supervisor);
        for task in journal::unfinished_attempts(&path).unwrap_or_default() {
            if task.run == *run && task.attempt.task_id.to_string() == place {
                let entry = journal::read_record(&path, &task).ok().flatten().unwrap_or_default();
                ending(&socket, &path, &task, entry, JobHooks::without_output(StopLevel::never())).await;
            }
        }
    }
}

/// Returns the outcome of an attempt a supervisor began.
async fn ending(
    socket: &Path,
    path: &Path,
    attempt: &RunAttempt,
    record: JournalRecord,
    hooks: JobHooks,
) -> ProcessOutcome {
    if let Some(gone) = record.outcome {
        return gone;
    }
    let ask = SupervisorRequest::Follow { task: attempt.clone(), show: hooks.on_output.is_some() };
    let answer = call(socket, &ask, hooks).await.map(|called| called.reply);
    if let Ok(SupervisorReply::Gone(gone)) = answer {
        return *gone;
    }
    // It may have ended during the query.
    let entry = journal::read_record(path, attempt).ok().flatten().unwrap_or(record);
    if let Some(gone) = entry.outcome {
        return gone;
    }
    let killing = move || {
        if let Some((pid, start)) = entry.process {
            tree::kill_session(pid, start);
        }
        tree::kill_marked(|mark| mark == entry.mark, &[]);
    };
    let _ = tokio::task::spawn_blocking(killing).await;
    ProcessOutcome::without(WorkExit::Interrupted)
}

/// Seals a run at a supervisor; a dead one begins nothing anyway.
async fn seal(dir: &Path, supervisor: &str, run: &RunId) {
    let ask = SupervisorRequest::Seal { run: run.clone() };
    let _ = call(&journal::socket(dir, supervisor), &ask, JobHooks::without_output(StopLevel::never())).await;
}

/// Returns the supervisors of a folder and their journals, sorted by name.
fn journals(dir: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let journals = paths.filter(|path| path.extension().is_some_and(|end| end == "journal"));
    let mut found: Vec<(String, PathBuf)> =
        journals.filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path))).collect();
    found.sort();
    found
}

/// Returns the attempts a supervisor has under way, if it lives.
pub fn at_work(dir: &Path, supervisor: &str) -> Vec<RunAttempt> {
    let lives = request::connect(&journal::socket(dir, supervisor)).is_ok();
    let open = journal::unfinished_attempts(&journal::path(dir, supervisor)).unwrap_or_default();
    if lives { open.into_iter().collect() } else { Vec::new() }
}

/// Returns the supervisors with a journal in a folder.
pub fn supervisors(dir: &Path) -> Vec<String> {
    journals(dir).into_iter().map(|(supervisor, _)| supervisor).collect()
}

/// Returns the supervisors with a journal in a folder and without a living engine.
pub fn orphans(dir: &Path) -> Vec<String> {
    let orphaned = |(_, path): &(String, PathBuf)| journal::is_orphaned(path);
    let orphaned_journals = journals(dir).into_iter().filter(orphaned);
    orphaned_journals.map(|(supervisor, _)| supervisor).collect()
}

/// Terminates an earlier supervisor and everything that steps left running, after the end of its run. Kills everything
/// left by a dead one. A supervisor with a living engine is left alone.
pub async fn conclude(dir: &Path, supervisor: &str) {
    let (socket, path) = (journal::socket(dir, supervisor), journal::path(dir, supervisor));
    match tokio::time::timeout(EXIT_TIMEOUT, request::request_shutdown(&socket)).await {
        Ok(Ok(true)) | Err(_) => {}
        Ok(Ok(false)) => return,
        // It has just exited by itself.
        Ok(Err(_)) if !path.exists() => {}
        Ok(Err(_)) => {
            let (id, journal) = (supervisor.to_owned(), path.clone());
            let killing = move || kill_the_rest(&id, &journal);
            let _ = tokio::task::spawn_blocking(killing).await;
        }
    }
    let _ = fs::remove_file(socket);
    let _ = fs::remove_file(path);
}

/// Kills everything left by a dead supervisor, except for what outlives its run.
pub(super) fn kill_the_rest(supervisor: &str, journal: &Path) {
    control_group::kill(supervisor, journal::group(journal));
    tree::kill_marked(|mark| is_mark_of(mark, supervisor), &journal::detached(journal));
}

/// True if a mark was given by a supervisor.
fn is_mark_of(mark: &str, supervisor: &str) -> bool {
    mark.strip_prefix(supervisor).is_some_and(|rest| rest.starts_with('-'))
}
