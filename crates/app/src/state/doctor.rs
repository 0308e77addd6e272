//! The examination of the state of a workspace.

use std::path::Path;

use rustix::fs::{Access, access, statvfs};
use serde::Serialize;

use super::{
    file_lock::{FileLock, LEADER_LOCK},
    history_size::history_finding,
    kept_checkpoint::{keep_database, read_checkpoint},
    logs::damaged_logs_of_newest,
    queue::{count_dead, queue_entries},
};
use crate::{
    CONFIG, Caller, Host,
    names::{attempt_name_from_text, task_name_from_text},
    relative_path,
    specs::load::read_config,
};
use wf_base::{
    name::RunId,
    remedy::UserAction,
    units::{plural, size},
    untrusted::untrusted,
};
use wf_core::machine::LockHolder;
use wf_exec::{
    supervisor::{self, RunAttempt},
    tree,
};
use wf_lang::DiskFiles;
use wf_report::record::RunLifecycle;
use wf_store::{
    self as store, RESTORE_PREFIX, RunFilter, RunLease, RunRetention, RunRow, RunState, StateFolder,
    StoreError, StoreReader, verify_chain, verify_chain_after,
};

/// The maximum number of named runs and locks.
pub(crate) const MAX_NAMED: usize = 10;

/// The number of the newest runs, with nested ones, whose logs are compared, unless the whole history is.
const MAX_COMPARED_RUNS: usize = 50;

/// A disk with less free space than this is reported.
const LOW_DISK_SPACE: u64 = 256 << 20;

/// One checked item.
#[derive(Serialize)]
pub struct DoctorFinding {
    /// The item.
    pub name: &'static str,
    pub health: DoctorStatus,
    /// The finding, for the user.
    pub found: String,
}

impl DoctorFinding {
    /// A finding about an item.
    pub fn new(name: &'static str, health: DoctorStatus, found: String) -> Self {
        Self { name, health, found }
    }
}

/// The health of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DoctorStatus {
    /// As it should be.
    Good,
    /// Noteworthy.
    Weak,
    /// To be repaired.
    Bad,
}

/// Checks the state: the history since the kept checkpoint, or all of it.
pub fn check_state(caller: &dyn Caller, is_full: bool) -> Vec<DoctorFinding> {
    let host = caller.host();
    let dir = host.workspace().state;
    let mut findings = vec![check_integrity(caller, &dir, is_full)];
    findings.extend(check_disk_space(&dir));
    findings.extend(history_finding(host, &dir));
    findings.extend(find_killed_restores(&dir));
    if let Ok(reader) = StoreReader::open(&dir) {
        findings.extend(check_leases(&reader));
        findings.extend(check_interrupted_runs(caller, &reader));
        findings.extend(check_logs(caller, &reader, is_full));
        findings.extend(find_orphaned_processes(caller, &reader));
        findings.extend(find_detached_processes(&reader));
        findings.extend(find_stale_locks(&reader));
        findings.extend(find_dead_letters(caller, &reader));
    }
    findings
}

/// Returns the limits on finished runs of the workspace; `None`: they are kept for ever.
pub(crate) fn configured_retention(host: &Host) -> Option<RunRetention> {
    let files = DiskFiles::new(&host.workspace().root);
    let config = read_config(&files, CONFIG).map(|(config, _)| config).unwrap_or_default();
    config.retention.limits()
}

/// True if a daemon works on the state of the workspace.
pub fn has_leader(host: &Host) -> bool {
    FileLock::is_locked(&host.workspace().state, LEADER_LOCK)
}

/// Finds the copies of a state left by a killed restore: no other command uses or removes them.
fn find_killed_restores(dir: &Path) -> Option<DoctorFinding> {
    let entries = dir.parent()?.read_dir().ok()?.flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut left: Vec<String> = names.filter(|name| name.starts_with(RESTORE_PREFIX)).collect();
    left.sort();
    let text =
        format!("{} is left by a restore that was killed; if none runs now, remove it", left.join(", "));
    (!left.is_empty()).then(|| DoctorFinding::new("restore", DoctorStatus::Weak, text))
}

/// Checks that the state is usable and unaltered.
fn check_integrity(caller: &dyn Caller, dir: &Path, is_full: bool) -> DoctorFinding {
    let host = caller.host();
    let shown = relative_path(dir, host.cwd());
    let bad = |found: String| DoctorFinding::new("state", DoctorStatus::Bad, found);
    if !writable(dir) {
        return bad(format!("{shown} · not writable · check its owner, or use --state"));
    }
    let short = if is_full { None } else { verify_since_checkpoint(host, dir) };
    match short.map_or_else(|| verify_database(host, dir), Ok) {
        Ok(found) => DoctorFinding::new("state", DoctorStatus::Good, format!("{shown} · {found}")),
        Err(StoreError::NoState(_)) => {
            let description = format!("{shown} · no runs yet");
            DoctorFinding::new("state", DoctorStatus::Good, description)
        }
        Err(error) => bad(format!("{error} · {}", caller.remedy_text(&error.remedy()))),
    }
}

/// Verifies what was added since the kept checkpoint; `None`: there is none, or anything is wrong, which is for the verification
/// of everything to say.
fn verify_since_checkpoint(host: &Host, dir: &Path) -> Option<String> {
    let checkpoint = read_checkpoint(host)?;
    let verified = checkpoint.event()?;
    let reader = StoreReader::open(dir).ok()?;
    let end = reader.log().end().ok()??;
    let events = verify_chain_after(&reader, Some(verified)).ok()?.ok()?;
    if reader.find_damage().ok()?.is_some() || !store::examine_after(&reader, verified.seq).ok()?.is_empty() {
        return None;
    }
    keep_database(host, end);
    let since = format!("verified since {}, from event {} on", checkpoint.at.to_second(), verified.seq + 1);
    let (size, schema) = (size(reader.size().ok()?), reader.schema().ok()?);
    Some(format!("{events} events, hash chain OK · {since} (everything: --full) · {size} · schema {schema}"))
}

/// Reads all of the database, follows the log to its end, and compares all files beside it.
fn verify_database(host: &Host, dir: &Path) -> Result<String, StoreError> {
    let reader = StoreReader::open(dir)?;
    let path = StateFolder::new(dir).database();
    if let Some(cause) = reader.find_damage()? {
        return Err(StoreError::Corrupt { path, cause });
    }
    let broken = |broken| StoreError::Broken { path: path.clone(), broken };
    let end = reader.log().end()?;
    let events = verify_chain(&reader)?.map_err(broken)?;
    let faults = store::examine(&reader)?;
    if let Some(first) = faults.first() {
        let more = plural(faults.len() - 1, "more difference");
        let more = (faults.len() > 1).then(|| format!(", and {more}"));
        let description = format!("{first}{}", more.unwrap_or_default());
        return Err(StoreError::of_faults(path, description, &faults));
    }
    if let Some(end) = end {
        keep_database(host, end);
    }
    let size = size(reader.size()?);
    let schema = reader.schema()?;
    Ok(format!("{events} events, hash chain OK · {size} · schema {schema}"))
}

/// True if the folder is writable, or can be created where it does not exist yet.
fn writable(dir: &Path) -> bool {
    let there = dir.ancestors().find(|folder| folder.exists());
    there.is_some_and(|folder| folder.is_dir() && access(folder, Access::WRITE_OK).is_ok())
}

/// Reports that the disk is nearly full.
fn check_disk_space(dir: &Path) -> Option<DoctorFinding> {
    let there = dir.ancestors().find(|folder| folder.exists())?;
    let disk = statvfs(there).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let description = format!(
        "{} free on the disk of the state · a run that cannot be recorded stops, and can be resumed",
        size(free)
    );
    (free < LOW_DISK_SPACE).then(|| DoctorFinding::new("disk", DoctorStatus::Weak, description))
}

/// Reports the owners of runs.
fn check_leases(reader: &StoreReader) -> Vec<DoctorFinding> {
    let living = reader.leases().held().unwrap_or_default();
    let finding = |(run, lease): &(RunId, RunLease)| {
        let description = format!("run {} is executed by {lease}", run.short());
        DoctorFinding::new("owner", DoctorStatus::Good, description)
    };
    living.iter().take(MAX_NAMED).map(finding).collect()
}

/// Reports the runs without an engine.
fn check_interrupted_runs(caller: &dyn Caller, reader: &StoreReader) -> Option<DoctorFinding> {
    let runs = find_interrupted_runs(reader);
    let runs: Vec<&str> = runs.iter().map(|run| run.id.short()).collect();
    let actions = [UserAction::ResumeSomeRun, UserAction::CancelSomeRun];
    let [resume, cancel] = actions.map(|action| caller.action_words(&action));
    let description = format!("{} · for each: `{resume}` or `{cancel}`", runs.join(", "));
    (!runs.is_empty()).then(|| DoctorFinding::new("interrupted", DoctorStatus::Weak, description))
}

/// Returns the newest unended runs without an engine.
pub(crate) fn find_interrupted_runs(reader: &StoreReader) -> Vec<RunRow> {
    let filter = RunFilter { state: Some(RunState::Running), ..RunFilter::default() };
    let dead = |run: &RunRow| {
        let owner = reader.leases().owner(&run.id).ok().flatten();
        RunLifecycle::of(run, owner) == RunLifecycle::Interrupted
    };
    let runs = reader.runs().list(MAX_NAMED, &filter).unwrap_or_default();
    runs.into_iter().filter(dead).collect()
}

/// Compares the logs of the newest runs with the record, or those of all.
fn check_logs(caller: &dyn Caller, reader: &StoreReader, is_full: bool) -> Option<DoctorFinding> {
    let count = if is_full { usize::MAX } else { MAX_COMPARED_RUNS };
    let damaged = damaged_logs_of_newest(reader, count).ok()?;
    let named: Vec<String> = damaged.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let more = match damaged.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let restore = caller.action_words(&UserAction::RestoreBackup);
    let description = format!("{}{more} · `{restore}` brings back a backup of the state", named.join("; "));
    (!damaged.is_empty()).then(|| DoctorFinding::new("logs", DoctorStatus::Bad, description))
}

/// Reports running processes whose engine is gone.
fn find_orphaned_processes(caller: &dyn Caller, reader: &StoreReader) -> Option<DoctorFinding> {
    let dir = reader.folder().keepers();
    let attended = reader.leases().held().unwrap_or_default();
    let alone = |keeper: &String| attended.iter().all(|(_, lease)| lease.supervisor != *keeper);
    let tasks = supervisor::supervisors(&dir).into_iter().filter(alone);
    // The names of supervisors, and so their order, are random.
    let mut tasks: Vec<RunAttempt> = tasks.flat_map(|id| supervisor::at_work(&dir, &id)).collect();
    tasks.sort();
    let named: Vec<String> = tasks
        .into_iter()
        .take(MAX_NAMED)
        .map(|task| {
            let attempt = task.attempt.to_string();
            let called = attempt_name_from_text(reader, &task.run, &attempt).unwrap_or(attempt);
            format!("{called} of run {}", task.run.short())
        })
        .collect();
    let [resume, cancel] =
        [UserAction::TakeOver, UserAction::StopWork].map(|action| caller.action_words(&action));
    let description = format!(
        "{} · running without an engine · take over with `{resume}`, or stop with `{cancel}`",
        named.join(", ")
    );
    (!named.is_empty()).then(|| DoctorFinding::new("at work", DoctorStatus::Weak, description))
}

/// Reports the running processes left by steps with `detach`.
fn find_detached_processes(reader: &StoreReader) -> Vec<DoctorFinding> {
    let rows = reader.attempts().left_processes().unwrap_or_default();
    let findings = rows.iter().filter(|row| row.processes.detached).flat_map(|row| {
        let task = task_name_from_text(Some(reader), &row.run, &row.task.to_string());
        tree::running(&row.processes).into_iter().map(move |process| {
            let (pid, command) = (process.pid, untrusted(&process.command));
            let text = format!("{pid} · {command} · left by step {task} of run {}", row.run.short());
            DoctorFinding::new("detached", DoctorStatus::Good, text)
        })
    });
    findings.take(MAX_NAMED).collect()
}

/// Reports what was given up, and is not tried again.
fn find_dead_letters(caller: &dyn Caller, reader: &StoreReader) -> Option<DoctorFinding> {
    let dead = count_dead(&queue_entries(reader).ok()?);
    let list = caller.action_words(&UserAction::ListQueue);
    let description = format!("{} · see `{list}`", plural(dead, "dead letter"));
    (dead > 0).then(|| DoctorFinding::new("queue", DoctorStatus::Weak, description))
}

/// Reports the locks of dead processes.
fn find_stale_locks(reader: &StoreReader) -> Option<DoctorFinding> {
    let locks = reader.leases().stale_locks().ok()?;
    let description_of = |holder: &LockHolder| {
        let place = task_name_from_text(Some(reader), &holder.run, &holder.place);
        format!("`{}` of {place} in run {}", holder.key.as_str(), holder.run.short())
    };
    let named: Vec<String> = locks.iter().take(MAX_NAMED).map(description_of).collect();
    let description =
        format!("{} · owner is dead; the next process that needs them gets them", named.join(", "));
    (!locks.is_empty()).then(|| DoctorFinding::new("locks", DoctorStatus::Good, description))
}
