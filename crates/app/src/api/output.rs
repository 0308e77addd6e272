//! The output of attempts by line, and the artifacts of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Caller, CommandError,
    records::named_task,
    views::{LogFeed, LogStart, find_run, log_feed, log_output, state_reader},
};
use wf_base::digest::Sha256Digest;
use wf_core::machine::{Attempt, TaskId};
use wf_engine::artifacts_of_run;

/// The lines of an answer if nothing is said.
const DEFAULT_LINES: u64 = 500;

/// A choice of lines.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApiLineQuery {
    /// The number of the attempt; absent: the last one.
    pub attempt: Option<u32>,
    /// The first line, from 1; absent: the last lines.
    pub from: Option<u64>,
    /// The most lines: 500, and at most 2,000.
    pub count: Option<u64>,
}

/// A choice of the output of an attempt as text.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApiOutputQuery {
    /// The number of the attempt; absent: the last one.
    pub attempt: Option<u32>,
    /// The number of bytes that are left out at the beginning.
    pub offset: u64,
    /// The answer goes on until the attempt ends.
    pub follow: bool,
}

/// Lines of the output of an attempt, as a terminal leaves them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Lines")]
pub struct ApiLines {
    pub attempt: u32,
    /// The number of the first of these lines, from 1.
    pub first: u64,
    /// The number of all lines.
    pub total: u64,
    /// True if the attempt has ended: no more can come.
    pub is_whole: bool,
    pub lines: Vec<ApiLine>,
}

/// A line of the output of an attempt.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Line")]
pub struct ApiLine {
    /// Its number, from 1.
    pub n: u64,
    /// Its text without colours.
    pub text: String,
    /// The number of bytes at its end that are left out.
    pub omitted: u64,
}

/// The artifacts of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ArtifactList")]
pub struct ApiArtifactList {
    pub artifacts: Vec<ApiArtifact>,
}

/// A file that a step of a run left.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Artifact")]
pub struct ApiArtifact {
    /// Its path in the workspace.
    pub path: String,
    pub digest: Sha256Digest,
    /// Its size in bytes.
    pub size: u64,
    /// The step that left it, as a path names it.
    pub step: String,
    /// The attempt that left it; 0: the result was cached or reused.
    pub attempt: u32,
    /// True if retention removed its content.
    pub is_removed: bool,
}

/// Returns lines of the output of an attempt; `None`: there is no such attempt.
pub fn api_lines(
    caller: &dyn Caller,
    run: &str,
    step: &str,
    query: &ApiLineQuery,
) -> Result<Option<ApiLines>, CommandError> {
    let Some(Attempt { task_id, attempt }) = named_attempt(caller, run, step, query.attempt)? else {
        return Ok(None);
    };
    let Some(output) = log_output(caller, run, &task_id.to_string(), attempt)? else {
        return Ok(None);
    };
    let read = output.lines(query.from, query.count.unwrap_or(DEFAULT_LINES))?;
    let lines = read.lines.iter().map(|line| ApiLine { n: line.n, text: line.text(), omitted: line.omitted });
    Ok(Some(ApiLines {
        attempt,
        first: read.first,
        total: read.total,
        is_whole: read.is_whole,
        lines: lines.collect(),
    }))
}

/// Opens the output of an attempt as text; `None`: there is no such attempt.
pub fn api_feed(
    caller: &dyn Caller,
    run: &str,
    step: &str,
    query: &ApiOutputQuery,
) -> Result<Option<LogFeed>, CommandError> {
    match named_attempt(caller, run, step, query.attempt)? {
        Some(Attempt { task_id, attempt }) => {
            log_feed(caller, run, &task_id.to_string(), attempt, LogStart::Offset(query.offset))
        }
        None => Ok(None),
    }
}

/// Returns the attempt of a step that is meant, by default the last one; `None`: there is no such step, or it has not begun.
fn named_attempt(
    caller: &dyn Caller,
    run: &str,
    step: &str,
    attempt: Option<u32>,
) -> Result<Option<Attempt>, CommandError> {
    let Some(reader) = state_reader(caller)? else {
        return Ok(None);
    };
    let Some(run) = find_run(&reader, run)? else {
        return Ok(None);
    };
    let Some(task_id) = named_task(&reader, &run, step)? else {
        return Ok(None);
    };
    let last = || Ok::<_, CommandError>(reader.store().steps().find(&run, &task_id)?.map(|row| row.attempts));
    let attempt = if attempt.is_some() { attempt } else { last()? };
    Ok(attempt.filter(|attempt| *attempt > 0).map(|attempt| Attempt { task_id, attempt }))
}

/// Returns the artifacts of a run; `None`: there is no such run.
pub fn api_artifacts(caller: &dyn Caller, run: &str) -> Result<Option<ApiArtifactList>, CommandError> {
    let Some(reader) = state_reader(caller)? else {
        return Ok(None);
    };
    let Some(run) = find_run(&reader, run)? else {
        return Ok(None);
    };
    let rows = artifacts_of_run(reader.store(), &run)?;
    let removed = reader.store().artifacts().pruned(rows.iter().map(|row| row.artifact.digest))?;
    let artifacts = rows.into_iter().map(|row| ApiArtifact {
        step: TaskId { step: row.step, item: row.item }.to_string(),
        attempt: row.attempt,
        is_removed: removed.contains(&row.artifact.digest),
        path: row.artifact.path,
        digest: row.artifact.digest,
        size: row.artifact.size,
    });
    Ok(Some(ApiArtifactList { artifacts: artifacts.collect() }))
}
