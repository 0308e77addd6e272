//! The checkpoint of a session, read from the record of its runs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::named_or_current;
use crate::{CommandError, Host, approve::approval_requests};
use wf_base::{name::SessionName, time::Moment};
use wf_core::{
    machine::{EventKind, MergeOutcome},
    memory::MemoryNote,
    session::SessionRecord,
};
use wf_report::{
    record::RunLifecycle,
    session::{SessionAnswer, SessionCheckpoint, SessionFile, SessionRequest, SessionRun},
};
use wf_store::{RunFilter, RunRow, StoreReader, allow_no_state};

/// The version of the document.
const VERSION: u32 = 1;

/// The number of shown answers.
const MAX_ANSWERS: usize = 10;

/// A session in a list.
#[derive(Debug, Serialize)]
pub struct SessionSummary {
    #[serde(flatten)]
    pub session: SessionRecord,
    /// The time of its last recorded event.
    pub last_active: Moment,
    /// The number of its outermost runs.
    pub run_count: usize,
    /// The number of unended ones.
    pub open_run_count: usize,
    /// The number of its notes.
    pub note_count: usize,
}

/// Returns all sessions, in the order of their beginnings.
pub fn list_sessions(host: &Host) -> Result<Vec<SessionSummary>, CommandError> {
    let Some(reader) = allow_no_state(StoreReader::open(&host.workspace().state))? else {
        return Ok(Vec::new());
    };
    let notes = reader.memory().notes()?;
    let summary = |session: SessionRecord| {
        let filter = RunFilter { session: Some(session.name.clone()), ..RunFilter::default() };
        let rows = reader.runs().list(usize::MAX, &filter)?;
        let own_notes: Vec<&MemoryNote> =
            notes.iter().filter(|note| note.session.as_ref() == Some(&session.name)).collect();
        Ok(SessionSummary {
            last_active: last_active(&session, &rows, &own_notes),
            run_count: rows.len(),
            open_run_count: rows.iter().filter(|row| row.ended.is_none()).count(),
            note_count: own_notes.len(),
            session,
        })
    };
    reader.sessions().all()?.into_iter().map(summary).collect()
}

/// Returns the time of the last record of a session.
fn last_active(session: &SessionRecord, run_rows: &[RunRow], notes: &[&MemoryNote]) -> Moment {
    let runs = run_rows.iter().flat_map(|row| [Some(row.created), row.ended]).flatten();
    runs.chain(notes.iter().map(|note| note.created)).fold(session.changed, Ord::max)
}

/// Reads the checkpoint of a session: the given one, or the current one.
pub fn session_checkpoint(
    host: &Host,
    name: Option<&SessionName>,
) -> Result<SessionCheckpoint, CommandError> {
    let reader = &StoreReader::open(&host.workspace().state)?;
    let session = named_or_current(reader, name)?;
    let filter = RunFilter { session: Some(session.name.clone()), nested: true, ..RunFilter::default() };
    let rows = reader.runs().list(usize::MAX, &filter)?;
    let outermost: Vec<&RunRow> = rows.iter().filter(|row| row.parent.is_none()).collect();
    let mut notes = reader.memory().notes()?;
    notes.retain(|note| note.session.as_ref() == Some(&session.name));
    let checkpoint = SessionCheckpoint {
        v: VERSION,
        last_active: last_active(&session, &rows, &notes.iter().collect::<Vec<_>>()),
        runs: runs(reader, &outermost)?,
        requests: requests(reader, &outermost)?,
        answers: answers(reader, &rows)?,
        conversations: wf_engine::conversations(reader.folder(), &session.name)?,
        files: files(reader, &rows)?,
        notes,
        blockers: Vec::new(),
        next: Vec::new(),
        session,
    };
    Ok(checkpoint.with_outlook())
}

fn runs(reader: &StoreReader, runs: &[&RunRow]) -> Result<Vec<SessionRun>, CommandError> {
    let run = |row: &&RunRow| {
        Ok(SessionRun {
            run: row.id.clone(),
            plan: row.plan.clone(),
            state: RunLifecycle::of(row, reader.leases().owner(&row.id)?),
            created: row.created,
            reason: row.reason.clone(),
            retry_of: row.retry_of.clone(),
        })
    };
    runs.iter().map(run).collect()
}

fn requests(reader: &StoreReader, runs: &[&RunRow]) -> Result<Vec<SessionRequest>, CommandError> {
    let mut open = Vec::new();
    for row in runs.iter().filter(|row| row.ended.is_none()) {
        for request in approval_requests(reader, &row.id)?.iter().filter(|request| request.outcome.is_none())
        {
            open.push(SessionRequest {
                run: row.id.clone(),
                name: request.name(),
                message: request.request.message.clone(),
                is_question: request.request.is_question(),
                expires: request.request.expires,
            });
        }
    }
    Ok(open)
}

/// Returns the last values given by steps, the latest first.
fn answers(reader: &StoreReader, runs: &[RunRow]) -> Result<Vec<SessionAnswer>, CommandError> {
    let mut answers = Vec::new();
    for row in runs {
        for step in reader.steps().of_run(&row.id)?.into_iter().filter(|step| !step.outputs.is_empty()) {
            let Some(at) = step.ended else { continue };
            answers.push(SessionAnswer { run: row.id.clone(), step: step.step, at, outputs: step.outputs });
        }
    }
    answers.sort_by_key(|answer| std::cmp::Reverse(answer.at));
    answers.truncate(MAX_ANSWERS);
    Ok(answers)
}

/// Returns the files left by steps as artifacts, or merged from their worktrees: of each, the last.
fn files(reader: &StoreReader, runs: &[RunRow]) -> Result<Vec<SessionFile>, CommandError> {
    let mut files = BTreeMap::new();
    for row in runs.iter().rev() {
        for artifact in reader.artifacts().of_run(&row.id)? {
            files.insert(artifact.artifact.path, (row.id.clone(), artifact.step));
        }
        let mut started = BTreeMap::new();
        for fact in reader.events().of_kinds(&row.id, &["merge_started", "merge_ended"])? {
            match fact.fact {
                EventKind::MergeStarted(start) => drop(started.insert(start.attempt, start.plan.files)),
                EventKind::MergeEnded(end) if end.outcome == MergeOutcome::Merged => {
                    let merged = started.remove(&end.attempt).unwrap_or_default();
                    let step = end.attempt.task_id.step;
                    files.extend(merged.into_iter().map(|path| (path, (row.id.clone(), step.clone()))));
                }
                _ => {}
            }
        }
    }
    let file = |(path, (run, step))| SessionFile { path, run, step };
    Ok(files.into_iter().map(file).collect())
}
