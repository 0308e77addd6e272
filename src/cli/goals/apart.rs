use std::process::{Command, Stdio};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Found, Where, all};
use crate::cli::{Failure, Revision, Ui, Workspace, keep};
use crate::model::Goal;

/// A file that is a goal, as one line of JSON.
#[derive(Serialize, Deserialize)]
struct Line {
    path: String,
    id: Option<String>,
    goal: Option<Goal>,
    why: Option<String>,
}

/// All goals of a workspace, read by a process of its own: who waits for years keeps nothing in
/// memory that only reading needs, and nothing that a file may do to a reader is done to it.
pub fn apart(ui: &Ui, place: &Where, workspace: &Workspace) -> Vec<Found> {
    read(ui, place, workspace).unwrap_or_else(|| all(place, workspace))
}

fn read(ui: &Ui, place: &Where, workspace: &Workspace) -> Option<Vec<Found>> {
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
    let answer = command.output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
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
    for found in all(&place, &workspace) {
        let (goal, why) = match found.goal {
            Ok(goal) => (Some(Goal::clone(&goal)), None),
            Err(why) => (None, Some(why)),
        };
        let line = Line {
            path: found.path,
            id: found.id,
            goal,
            why,
        };
        ui.print(&(serde_json::to_string(&line).unwrap_or_default() + "\n"))?;
    }
    Ok(())
}
