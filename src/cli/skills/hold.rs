use std::collections::BTreeMap;

use super::consent::{holds, id};
use super::put::SKILLS;
use super::{fetch, locks};
use crate::approval::{Policy, Refusal};
use crate::cli::approve::Rules;
use crate::cli::{Exit, Failure, Ui, Workspace};
use crate::digest::Digest;
use crate::machine::By;
use crate::skill::lock::{Change, Lock, Locked, LockedFile, changes, locked_files};
use crate::skill::{Bundle, bundled, disk};

/// A skill that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its name.
    pub name: String,
    /// Its folder, relative to the workspace.
    pub folder: String,
    /// The digest of all its files.
    pub digest: Digest,
    /// Its files by path, relative to the folder.
    pub files: BTreeMap<String, LockedFile>,
    /// Whose approvals count; nobody's if it comes with this wf.
    pub by: Vec<By>,
}

/// Why a skill may not be used.
pub enum Wrong {
    /// There is none.
    Missing,
    /// It is not locked.
    Unlocked,
    /// It cannot be read.
    Unreadable(Failure),
    /// It is not what was locked.
    Changed(Vec<Change>),
    /// What was signed does not hold.
    Refused(Refusal),
}

/// Whether all of these skills may be used: each is locked, is what was locked byte for byte, and
/// the approvals of that hold now. Nothing is begun before. INV-06.
pub fn hold(ui: &Ui, workspace: &Workspace, names: &[String]) -> Result<Vec<Held>, Failure> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let lock = locks::read(workspace)?;
    let rules = Rules::of(ui, workspace)?;
    let each = names.iter().map(|name| {
        let held = one(ui, workspace, (&rules, &lock), name);
        held.map_err(|wrong| wrong.failure(name))
    });
    each.collect()
}

/// Whether one skill may be used.
pub fn one(
    ui: &Ui,
    workspace: &Workspace,
    (rules, lock): (&Rules, &Lock),
    name: &str,
) -> Result<Held, Wrong> {
    id(name).map_err(Wrong::Unreadable)?;
    let Some(locked) = lock.skills.get(name) else {
        return shipped(workspace, rules, name);
    };
    same(workspace, locked)?;
    let valid = holds(ui, rules, name, locked).map_err(Wrong::Refused)?;
    Ok(Held {
        name: name.to_owned(),
        folder: locked.folder.clone(),
        digest: locked.digest,
        files: locked.files.clone(),
        by: valid.by,
    })
}

/// A skill that comes with this wf needs no lock where people sign for what they run themselves:
/// who runs wf has it already.
fn shipped(workspace: &Workspace, rules: &Rules, name: &str) -> Result<Held, Wrong> {
    let folder = format!("{SKILLS}/{name}");
    let bundle = disk::read(&workspace.root.join(&folder)).ok();
    let is_own = |bundle: &Bundle| bundled::is_bundled(name, bundle);
    match bundle.filter(is_own) {
        Some(bundle) if rules.approvers.policy == Policy::Owner => Ok(Held {
            name: name.to_owned(),
            folder,
            digest: bundle.digest(),
            files: locked_files(&bundle),
            by: Vec::new(),
        }),
        _ if crate::skill::SHELVES
            .iter()
            .all(|shelf| is_missing(workspace, shelf, name)) =>
        {
            Err(Wrong::Missing)
        }
        _ => Err(Wrong::Unlocked),
    }
}

/// Whether there is no skill of this name on a shelf.
fn is_missing(workspace: &Workspace, shelf: &str, name: &str) -> bool {
    let folder = workspace.root.join(shelf).join(name);
    std::fs::symlink_metadata(folder).is_err()
}

/// Whether the files of a skill are those that were locked.
fn same(workspace: &Workspace, locked: &Locked) -> Result<(), Wrong> {
    let bundle = fetch::read(&workspace.root.join(&locked.folder)).map_err(|failure| {
        Wrong::Unreadable(Failure {
            exit: Exit::Approval,
            ..failure
        })
    })?;
    let changed = changes(&locked.files, &bundle);
    if changed.is_empty() && bundle.digest() == locked.digest {
        Ok(())
    } else {
        Err(Wrong::Changed(changed))
    }
}

impl Wrong {
    /// What is wrong, in a few words.
    pub fn told(&self) -> String {
        match self {
            Self::Missing => "the workspace has none of this name".to_owned(),
            Self::Unlocked => "it is not locked".to_owned(),
            Self::Unreadable(failure) => failure.message.clone(),
            Self::Changed(changes) if changes.is_empty() => {
                "its digest is not that of its files".to_owned()
            }
            Self::Changed(changes) => {
                let told: Vec<String> = changes.iter().take(5).map(ToString::to_string).collect();
                let more = changes.len().saturating_sub(told.len());
                let more = if more > 0 {
                    format!(", and {more} more")
                } else {
                    String::new()
                };
                format!("{}{more}", told.join(", "))
            }
            Self::Refused(refusal) => refusal.to_string(),
        }
    }

    /// What to do about it.
    pub fn remedy(&self, name: &str) -> String {
        match self {
            Self::Missing => {
                "`wf skill list` lists those that there are, and `wf skill install` puts one into skills/".to_owned()
            }
            Self::Unlocked => format!("look at it and lock it: wf skill lock {name}"),
            Self::Unreadable(failure) => failure.hints.first().cloned().unwrap_or_default(),
            Self::Changed(_) => {
                format!("take the change back, or look at it and lock it: wf skill lock {name}")
            }
            Self::Refused(
                Refusal::Revoked { .. }
                | Refusal::Expired(_)
                | Refusal::Unsigned
                | Refusal::TooFew { .. }
                | Refusal::SelfApproval(_)
                | Refusal::Unlisted(_),
            ) => {
                format!("let somebody who may look at it and sign: wf skill approve {name}")
            }
            Self::Refused(_) => format!(
                "somebody changed skills.lock: restore it from git, or look at the skill and lock it anew: wf skill lock {name}"
            ),
        }
    }

    /// The failure that ends a command.
    pub fn failure(&self, name: &str) -> Failure {
        let message = format!(
            "the skill `{}` may not be used: {}",
            name.escape_debug(),
            self.told()
        );
        Failure::new(Exit::Approval, message).hint(self.remedy(name))
    }
}
