//! What became of an attempt that an earlier engine asked some keeper for.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::watch;

use super::call::{self, Wires, call};
use super::journal::{self, Entry};
use super::message::{Answer, Ask, Task};
use crate::exec::attempt::Gone;
use crate::exec::{Stop, contain, tree};
use crate::machine::Exit;
use crate::name::RunId;

/// How long the end of a keeper may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Recall {
    /// Its work ended, some time ago or just now.
    Gone(Gone),
    /// No keeper ever began it.
    NeverBegan,
}

/// Where the keepers of the past are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Past<'a> {
    /// The folder of journals and sockets.
    pub dir: &'a Path,
    /// The keeper of this engine, which is not of the past.
    pub own: Option<&'a str>,
    /// The keepers that the attempt was meant for, if they are known and if their journals cannot
    /// have been lost with the machine's memory.
    pub meant_for: Option<&'a [String]>,
}

/// Finds out what became of an attempt, and waits for its end if it is still under way. Whatever
/// is left of one whose keeper died is killed.
///
/// From here on no keeper of the past begins anything of its run.
pub async fn recall(past: Past<'_>, task: &Task, wires: Wires) -> Recall {
    let mut found = None;
    let mut seen = Vec::new();
    for (keeper, path) in journals(past.dir) {
        if past.own == Some(keeper.as_str()) {
            continue;
        }
        seal(past.dir, &keeper, &task.run).await;
        if let Ok(Some(entry)) = journal::read(&path, task) {
            found = Some((keeper.clone(), path, entry));
        }
        seen.push(keeper);
    }
    match found {
        Some((keeper, path, entry)) => {
            let socket = journal::socket(past.dir, &keeper);
            let ended = ending(&socket, &path, task, entry, wires).await;
            Recall::Gone(ended)
        }
        None if past
            .meant_for
            .is_some_and(|all| all.iter().all(|one| seen.contains(one))) =>
        {
            Recall::NeverBegan
        }
        None => Recall::Gone(Gone::without(Exit::Interrupted)),
    }
}

/// Waits until nothing is under way any more that keepers of the past do for a place; what is
/// left of a dead keeper's is killed.
pub async fn outlast(past: Past<'_>, run: &RunId, place: &str) {
    for (keeper, path) in journals(past.dir) {
        if past.own == Some(keeper.as_str()) {
            continue;
        }
        let socket = journal::socket(past.dir, &keeper);
        for task in journal::open(&path).unwrap_or_default() {
            if task.run == *run && task.attempt.place.to_string() == place {
                let (_told, stop) = watch::channel(Stop::No);
                let entry = journal::read(&path, &task)
                    .ok()
                    .flatten()
                    .unwrap_or_default();
                ending(&socket, &path, &task, entry, (stop, None).into()).await;
            }
        }
    }
}

/// How an attempt ended that some keeper began.
async fn ending(socket: &Path, path: &Path, task: &Task, entry: Entry, wires: Wires) -> Gone {
    if let Some(gone) = entry.gone {
        return gone;
    }
    let ask = Ask::Follow {
        task: task.clone(),
        show: wires.on_output.is_some(),
    };
    let answer = call(socket, &ask, wires).await.map(|called| called.answer);
    if let Ok(Answer::Gone(gone)) = answer {
        return *gone;
    }
    // It may have ended while it was asked about.
    let entry = journal::read(path, task).ok().flatten().unwrap_or(entry);
    if let Some(gone) = entry.gone {
        return gone;
    }
    let killing = move || {
        if let Some((pid, start)) = entry.process {
            tree::kill_session(pid, start);
        }
        tree::kill_marked(|mark| mark == entry.mark);
    };
    let _ = tokio::task::spawn_blocking(killing).await;
    Gone::without(Exit::Interrupted)
}

/// Lets a keeper begin nothing of a run any more; one that is gone begins nothing anyway.
async fn seal(dir: &Path, keeper: &str, run: &RunId) {
    let ask = Ask::Seal { run: run.clone() };
    let (_told, stop) = watch::channel(Stop::No);
    let _ = call(&journal::socket(dir, keeper), &ask, (stop, None).into()).await;
}

/// The journals of a folder, and the keepers that wrote them, in the order of their names.
fn journals(dir: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let journals = paths.filter(|path| path.extension().is_some_and(|end| end == "journal"));
    let mut found: Vec<(String, PathBuf)> = journals
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .collect();
    found.sort();
    found
}

/// What a keeper has under way, if it lives.
pub fn at_work(dir: &Path, keeper: &str) -> Vec<Task> {
    let lives = call::at(&journal::socket(dir, keeper), |path| {
        UnixStream::connect(path)
    })
    .is_ok();
    let open = journal::open(&journal::path(dir, keeper)).unwrap_or_default();
    if lives {
        open.into_iter().collect()
    } else {
        Vec::new()
    }
}

/// The keepers that left something in a folder.
pub fn keepers(dir: &Path) -> Vec<String> {
    journals(dir)
        .into_iter()
        .map(|(keeper, _)| keeper)
        .collect()
}

/// The keepers that left something in a folder, and whose engines are gone.
pub fn orphans(dir: &Path) -> Vec<String> {
    let orphaned = |(_, path): &(String, PathBuf)| journal::is_orphaned(path);
    let found = journals(dir).into_iter().filter(orphaned);
    found.map(|(keeper, _)| keeper).collect()
}

/// Lets a keeper of the past end, with what steps left running, once its run has ended. What one
/// left that died is killed. A keeper whose engine lives is left alone.
pub async fn conclude(dir: &Path, keeper: &str) {
    let (socket, path) = (journal::socket(dir, keeper), journal::path(dir, keeper));
    match tokio::time::timeout(PATIENCE, call::last(&socket)).await {
        Ok(Ok(true)) | Err(_) => {}
        Ok(Ok(false)) => return,
        // It ended by itself just now.
        Ok(Err(_)) if !path.exists() => {}
        Ok(Err(_)) => {
            let (id, journal) = (keeper.to_owned(), path.clone());
            let killing = move || kill_the_rest(&id, &journal);
            let _ = tokio::task::spawn_blocking(killing).await;
        }
    }
    let _ = fs::remove_file(socket);
    let _ = fs::remove_file(path);
}

/// Kills what a keeper left that died.
pub(super) fn kill_the_rest(keeper: &str, journal: &Path) {
    contain::kill(keeper, journal::group(journal));
    tree::kill_marked(|mark| is_of(mark, keeper));
}

/// Whether a mark was given by a keeper.
fn is_of(mark: &str, keeper: &str) -> bool {
    mark.strip_prefix(keeper)
        .is_some_and(|rest| rest.starts_with('-'))
}
