use std::path::Path;

use rustix::fs::{Access, access, statvfs};
use serde::Serialize;

use super::which::{called_attempt, called_text};
use super::{Ui, relative};
use crate::exec::keeper;
use crate::name::RunId;
use crate::report::{plural, size};
use crate::store::{
    self, Folder, Lease, Reader, RunFilter, RunRow, RunState, StoreError, verify_chain,
};

/// The most runs and locks that are named.
const NAMED: usize = 10;

/// A disk with less than this is told of.
const LITTLE: u64 = 256 << 20;

/// One thing that was looked at.
#[derive(Serialize)]
pub struct Finding {
    pub name: &'static str,
    pub health: Health,
    pub found: String,
}

impl Finding {
    /// What was found.
    pub fn new(name: &'static str, health: Health, found: String) -> Self {
        Self {
            name,
            health,
            found,
        }
    }
}

/// How a thing is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should be.
    Good,
    /// Worth to know.
    Weak,
    /// To be mended.
    Bad,
}

/// Looks at the state.
pub fn of_state(ui: &Ui) -> Vec<Finding> {
    let dir = ui.workspace().state;
    let mut findings = vec![whole(ui, &dir)];
    findings.extend(room(&dir));
    if let Ok(reader) = Reader::open(&dir) {
        findings.extend(owned(&reader));
        findings.extend(interrupted(&reader));
        findings.extend(unattended(&reader, &Folder::new(&dir)));
        findings.extend(stale(&reader));
    }
    findings
}

/// Whether the state can be used, and is what was written.
fn whole(ui: &Ui, dir: &Path) -> Finding {
    let shown = relative(dir, ui.env.cwd());
    let bad = |found: String| Finding::new("state", Health::Bad, found);
    if !writable(dir) {
        return bad(format!(
            "{shown} · it cannot be written · check its owner, or use --state"
        ));
    }
    match examine(dir) {
        Ok(found) => Finding::new("state", Health::Good, format!("{shown} · {found}")),
        Err(StoreError::NoState(_)) => {
            let found = format!("{shown} · nothing was run yet");
            Finding::new("state", Health::Good, found)
        }
        Err(error) => bad(format!("{error} · {}", error.remedy())),
    }
}

/// Reads all of the database, follows the log to its end, and compares all that lies beside it.
fn examine(dir: &Path) -> Result<String, StoreError> {
    let reader = Reader::open(dir)?;
    let path = Folder::new(dir).database();
    if let Some(cause) = reader.damage()? {
        return Err(StoreError::Corrupt { path, cause });
    }
    let broken = |broken| StoreError::Broken {
        path: path.clone(),
        broken,
    };
    let events = verify_chain(&reader)?.map_err(broken)?;
    let faults = store::examine(&reader)?;
    if let Some(first) = faults.first() {
        let more = plural(faults.len() - 1, "more difference");
        let more = (faults.len() > 1).then(|| format!(", and {more}"));
        let what = format!("{first}{}", more.unwrap_or_default());
        return Err(StoreError::Tampered { path, what });
    }
    let size = size(reader.size()?);
    let schema = reader.schema()?;
    Ok(format!(
        "{events} events, none altered · {size} · schema {schema}"
    ))
}

/// Whether the folder may be written, or made where it is not there yet.
fn writable(dir: &Path) -> bool {
    let there = dir.ancestors().find(|folder| folder.exists());
    there.is_some_and(|folder| folder.is_dir() && access(folder, Access::WRITE_OK).is_ok())
}

/// Says that the disk is nearly full.
fn room(dir: &Path) -> Option<Finding> {
    let there = dir.ancestors().find(|folder| folder.exists())?;
    let disk = statvfs(there).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let found = format!(
        "{} free where the state is · a run that cannot be recorded stops, and can be resumed",
        size(free)
    );
    (free < LITTLE).then(|| Finding::new("disk", Health::Weak, found))
}

/// Who works on runs.
fn owned(reader: &Reader) -> Vec<Finding> {
    let living = reader.living().unwrap_or_default();
    let one = |(run, lease): &(RunId, Lease)| {
        let found = format!("run {} is worked on by {lease}", run.short());
        Finding::new("owner", Health::Good, found)
    };
    living.iter().take(NAMED).map(one).collect()
}

/// The runs that nobody works on any more, though they have not ended.
fn interrupted(reader: &Reader) -> Option<Finding> {
    let filter = RunFilter {
        state: Some(RunState::Running),
        ..RunFilter::default()
    };
    let dead = |run: &RunRow| {
        let owner = reader.owner(&run.id).ok().flatten();
        // Who waits for people needs nobody.
        run.asks == 0 && !owner.is_some_and(|owner| owner.alive)
    };
    let runs = reader.runs(NAMED, &filter).ok()?;
    let dead: Vec<&str> = runs
        .iter()
        .filter(|run| dead(run))
        .map(|run| run.id.short())
        .collect();
    let found = format!(
        "{} · `wf resume` goes on, `wf cancel` ends",
        dead.join(", ")
    );
    (!dead.is_empty()).then(|| Finding::new("interrupted", Health::Weak, found))
}

/// The work that goes on though the engine that asked for it is gone.
fn unattended(reader: &Reader, state: &Folder) -> Option<Finding> {
    let dir = state.keepers();
    let attended = reader.living().unwrap_or_default();
    let alone = |keeper: &String| attended.iter().all(|(_, lease)| lease.keeper != *keeper);
    let tasks = keeper::keepers(&dir).into_iter().filter(alone);
    let tasks = tasks.flat_map(|keeper| keeper::at_work(&dir, &keeper));
    let named: Vec<String> = tasks
        .take(NAMED)
        .map(|task| {
            let attempt = task.attempt.to_string();
            let called = called_attempt(reader, &task.run, &attempt).unwrap_or(attempt);
            format!("{called} of run {}", task.run.short())
        })
        .collect();
    let found = format!(
        "{} · without an engine; `wf resume` takes it over, `wf cancel` ends it",
        named.join(", ")
    );
    (!named.is_empty()).then(|| Finding::new("at work", Health::Weak, found))
}

/// The locks that the dead hold.
fn stale(reader: &Reader) -> Option<Finding> {
    let locks = reader.stale_locks().ok()?;
    let one = |(lock, run, place): &(String, RunId, String)| {
        let place = called_text(Some(reader), run, place);
        format!("`{lock}` of {place} in run {}", run.short())
    };
    let named: Vec<String> = locks.iter().take(NAMED).map(one).collect();
    let found = format!(
        "{} · held by nobody who lives; whoever asks next gets them",
        named.join(", ")
    );
    (!locks.is_empty()).then(|| Finding::new("locks", Health::Good, found))
}
