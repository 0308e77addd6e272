use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::entry::read;
use super::pins::with_texts;
use super::{Rules, token_path};
use crate::approval::{GoalContent, Policy, Refusal, accepts};
use crate::cli::load::{self, OfGoal, Ready};
use crate::cli::revision::tracked;
use crate::cli::workspace::CONFIG;
use crate::cli::{Exit, Failure, Ui, Workspace};
use crate::exec::{Unable, pinned};
use crate::machine::Pin;
use crate::model::{Given, NotifyBy, Object, resolve_params};
use crate::name::PlanId;

/// Where it lies that somebody accepted a goal.
pub fn acceptance_path(workspace: &Workspace, goal: &PlanId) -> PathBuf {
    let folder = workspace.state.join("goals");
    folder.join(format!("{goal}.accepted.json"))
}

/// Checks that somebody who may accept a goal saw it as it is: with `wf goal accept`, or where they
/// signed what its repairs may do.
pub fn accepted(ui: &Ui, ready: &Ready) -> Result<Result<(), Refusal>, Failure> {
    let of = goal_of(ready)?;
    let approvers = Rules::of(ui, &ready.workspace)?.approvers;
    let files = executed(ready)?;
    let content = GoalContent {
        goal: &of.goal.id,
        path: &ready.path,
        files: &files,
        config: CONFIG,
    };
    let by_token = |path: &Path| {
        let token = read(&ready.workspace, path)?;
        accepts(&token, &content, &approvers)
    };
    let approval = token_path(&ready.workspace.root.join(&ready.path));
    let approved = by_token(&approval);
    if approved.is_ok() || approvers.policy == Policy::Reviewed {
        return Ok(approved);
    }
    let accepted = by_token(&acceptance_path(&ready.workspace, &of.goal.id));
    Ok(match accepted {
        Err(Refusal::Missing(_)) => approved,
        accepted => accepted,
    })
}

/// Checks that the programs of a goal are those that somebody accepted, where its texts are those that a
/// cycle began with. Nobody accepts what a person runs and what a branch holds.
pub fn programs_accepted(ui: &Ui, ready: &Ready) -> Result<Result<(), Refusal>, Failure> {
    let policy = Rules::of(ui, &ready.workspace)?.approvers.policy;
    Ok(match accepted(ui, ready)? {
        Err(Refusal::Missing(_)) if policy == Policy::Owner => Ok(()),
        Err(Refusal::Changed(mut files)) => {
            let is_text = |path: &str| ready.sources.iter().any(|(source, _)| source == path);
            files.retain(|file| !is_text(&file.path));
            if files.is_empty() {
                Ok(())
            } else {
                Err(Refusal::Changed(files))
            }
        }
        seen => seen,
    })
}

/// What a goal waits for that nobody accepted as it is; `None`: for nothing, or, where others must
/// approve, for them.
pub fn waits(ui: &Ui, ready: &Ready) -> Result<Option<String>, Failure> {
    if Rules::of(ui, &ready.workspace)?.approvers.policy == Policy::Reviewed {
        return Ok(None);
    }
    let id = &goal_of(ready)?.goal.id;
    Ok(accepted(ui, ready)?.err().map(|refusal| {
        let why = match refusal {
            Refusal::Missing(_) => "it is new".to_owned(),
            Refusal::Changed(files) => {
                let first = files.first().map(ToString::to_string).unwrap_or_default();
                match files.len() {
                    1 => first,
                    more => format!("{first}, and {} more", more - 1),
                }
            }
            other => other.to_string(),
        };
        format!("waits for `wf goal accept {id}`: {why}")
    }))
}

/// What the goal at a path waits for, as [`waits`] says. What cannot be read is told by others.
pub fn waits_at(ui: &Ui, workspace: &Workspace, path: &str) -> Result<Option<String>, Failure> {
    let ready = load::goal_again(ui, workspace.clone(), path)?;
    waits(ui, &ready)
}

/// What whoever accepts a goal has seen: every text that it is made of, and the programs among the
/// files that its commands name. Sorted by path. What else they name is what they look at, which
/// others make at any time.
pub fn executed(ready: &Ready) -> Result<Vec<Pin>, Failure> {
    let of = goal_of(ready)?;
    let root = &ready.workspace.root;
    let mut given = Object::new();
    for one in Given::ALL {
        given.insert(one.as_str().to_owned(), one.default_value().into());
    }
    let params = resolve_params(&of.whole.parts().params, &given)?;
    let unreadable = |unable: Unable| Failure::new(Exit::Usage, unable.why);
    let mut named = pinned::files(&of.whole, root, &params).map_err(unreadable)?;
    for notify in &of.goal.notify {
        if let NotifyBy::Exec(argv) = &notify.by {
            named.extend(pinned::named_by(argv, root).map_err(unreadable)?);
        }
    }
    let (programs, others): (Vec<_>, Vec<_>) = named
        .into_iter()
        .partition(|(path, _)| is_program(&root.join(path)));
    let known = if others.is_empty() {
        None
    } else {
        tracked(root)
    };
    let is_tracked = |path: &String| {
        known
            .as_ref()
            .is_some_and(|known| known.contains(Path::new(path)))
    };
    let others = others.into_iter().filter(|(path, _)| is_tracked(path));
    let files = programs.into_iter().chain(others);
    with_texts(ready, files.map(|(path, digest)| Pin::file(path, digest)))
}

/// Whether a file says of itself that it is a program: it may be executed, or names its
/// interpreter.
fn is_program(path: &Path) -> bool {
    let Ok(found) = fs::metadata(path) else {
        return false;
    };
    let names_one = || {
        let mut start = [0; 2];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
        read.is_ok() && start == *b"#!"
    };
    found.is_file() && (found.permissions().mode() & 0o111 != 0 || names_one())
}

fn goal_of(ready: &Ready) -> Result<&OfGoal, Failure> {
    let of = ready.goal.as_ref();
    of.ok_or_else(|| Failure::new(Exit::Bug, "this is no goal"))
}
