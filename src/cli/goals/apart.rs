use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Found, Where, all, all_with_waits};
use crate::cli::{Failure, Revision, Ui, Workspace, keep};
use crate::model::Goal;

/// A file that is a goal, as one line of JSON.
#[derive(Serialize, Deserialize)]
struct Line {
    path: String,
    id: Option<String>,
    goal: Option<Goal>,
    why: Option<String>,
    #[serde(default)]
    waits: Option<String>,
}

/// All goals of a workspace, read by a process of its own: who waits for years keeps nothing in
/// memory that only reading needs, and nothing that a file may do to a reader is done to it.
pub fn apart(ui: &Ui, place: &Where, workspace: &Workspace) -> Vec<Found> {
    let answer = reader(ui, place, workspace).output().ok();
    let found = answer.and_then(|answer| read(&answer));
    found.unwrap_or_else(|| all(place, workspace))
}

/// Does the same without keeping a thread of a runtime waiting.
pub async fn apart_aside(ui: &Ui, place: &Where, workspace: &Workspace) -> Vec<Found> {
    let mut reader = reader(ui, place, workspace);
    let answer = tokio::task::spawn_blocking(move || reader.output()).await;
    let answer = answer.ok().and_then(Result::ok);
    let found = answer.and_then(|answer| read(&answer));
    found.unwrap_or_else(|| all(place, workspace))
}

/// The process that reads.
fn reader(ui: &Ui, place: &Where, workspace: &Workspace) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is wf itself, which only answers: it is awaited here"
    )]
    let mut command = Command::new(keep::program());
    command.arg("--state").arg(&workspace.state);
    command.args(["goal", "read"]);
    if let Where::Commit(revision) = place {
        command.args(["--commit", revision.commit()]);
    }
    command.current_dir(ui.env.cwd());
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// What it found; nothing if that cannot be read.
fn read(answer: &Output) -> Option<Vec<Found>> {
    let text = std::str::from_utf8(&answer.stdout).ok()?;
    let lines = text.lines().map(|line| {
        let line: Line = serde_json::from_str(line).ok()?;
        let goal = match (line.goal, line.why) {
            (Some(goal), _) => Ok(Arc::new(goal)),
            (None, why) => Err(why?),
        };
        Some(Found {
            path: line.path,
            id: line.id,
            goal,
            waits: line.waits,
        })
    });
    let found: Option<Vec<Found>> = lines.collect();
    found.filter(|_| answer.status.success())
}

/// Reads all goals and writes them down for who asked for it.
pub fn write(ui: &Ui, commit: Option<&str>) -> Result<(), Failure> {
    let workspace = ui.workspace();
    let place = match commit {
        None => Where::Disk,
        Some(commit) => Where::Commit(Revision::of(&workspace, commit)?),
    };
    let found = match &place {
        Where::Disk => all_with_waits(ui, &workspace),
        Where::Commit(_) => all(&place, &workspace),
    };
    for found in found {
        let (goal, why) = match found.goal {
            Ok(goal) => (Some(Goal::clone(&goal)), None),
            Err(why) => (None, Some(why)),
        };
        let line = Line {
            path: found.path,
            id: found.id,
            goal,
            why,
            waits: found.waits,
        };
        ui.print_json(&(serde_json::to_string(&line).unwrap_or_default() + "\n"))?;
    }
    Ok(())
}
