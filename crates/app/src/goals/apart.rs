use crate::Caller;
use std::{
    process::{Command, Output, Stdio},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{
    CommandError, GitRevision, Host, Workspace,
    goals::{GoalFile, GoalFileError, GoalSource, list_goals, list_goals_with_acceptance},
    keep,
};
use wf_model::Goal;

/// The file of a goal, as one line of JSON.
#[derive(Serialize, Deserialize)]
struct GoalFileLine {
    path: String,
    id: Option<String>,
    goal: Option<Goal>,
    reason: Option<GoalFileError>,
    #[serde(default)]
    waits: Option<String>,
}

/// Reads all goals of a workspace in a process of its own: a daemon waiting for years keeps no
/// memory that only reading needs, and is safe from files that harm a reader.
pub fn read_in_child(
    host: &Host,
    source: &GoalSource,
    workspace: &Workspace,
) -> Result<Vec<GoalFile>, CommandError> {
    let answer = reader_command(host, source, workspace).output().ok();
    let files = answer.and_then(|answer| parse_lines(&answer));
    files.map_or_else(|| list_goals(source, workspace), Ok)
}

/// Does the same without blocking a thread of a runtime.
pub async fn read_in_child_async(
    host: &Host,
    source: &GoalSource,
    workspace: &Workspace,
) -> Result<Vec<GoalFile>, CommandError> {
    let mut reader = reader_command(host, source, workspace);
    let answer = tokio::task::spawn_blocking(move || reader.output()).await;
    let answer = answer.ok().and_then(Result::ok);
    let files = answer.and_then(|answer| parse_lines(&answer));
    files.map_or_else(|| list_goals(source, workspace), Ok)
}

/// The command of the reading process.
fn reader_command(host: &Host, source: &GoalSource, workspace: &Workspace) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is wf itself, which only answers: it is awaited here"
    )]
    let mut command = Command::new(keep::own_program());
    command.arg("--state").arg(&workspace.state);
    command.args(["goal", "read"]);
    if let GoalSource::Commit(revision) = source {
        command.args(["--commit", revision.commit()]);
    }
    command.current_dir(host.cwd());
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// The goals it found; none if its output is not readable.
fn parse_lines(answer: &Output) -> Option<Vec<GoalFile>> {
    let text = std::str::from_utf8(&answer.stdout).ok()?;
    let lines = text.lines().map(|line| {
        let line: GoalFileLine = serde_json::from_str(line).ok()?;
        let goal = match (line.goal, line.reason) {
            (Some(goal), _) => Ok(Arc::new(goal)),
            (None, reason) => Err(reason?),
        };
        Some(GoalFile { path: line.path, id: line.id, goal, awaited_acceptance: line.waits })
    });
    let files: Option<Vec<GoalFile>> = lines.collect();
    files.filter(|_| answer.status.success())
}

/// Reads all goals, and returns them as lines for the calling process.
pub fn goal_lines(caller: &dyn Caller, commit: Option<&str>) -> Result<String, CommandError> {
    let workspace = caller.host().workspace();
    let place = match commit {
        None => GoalSource::Disk,
        Some(commit) => {
            GoalSource::Commit(GitRevision::of(&workspace, commit, &caller.host().vars())?.into())
        }
    };
    let files = match &place {
        GoalSource::Disk => list_goals_with_acceptance(caller, &workspace),
        GoalSource::Commit(_) => list_goals(&place, &workspace)?,
    };
    let mut lines = String::new();
    for file in files {
        let (goal, reason) = match file.goal {
            Ok(goal) => (Some(Goal::clone(&goal)), None),
            Err(reason) => (None, Some(reason)),
        };
        let line =
            GoalFileLine { path: file.path, id: file.id, goal, reason, waits: file.awaited_acceptance };
        lines += &(serde_json::to_string(&line).unwrap_or_default() + "\n");
    }
    Ok(lines)
}
