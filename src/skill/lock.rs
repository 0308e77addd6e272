//! The lock file: which skills a workspace has, byte by byte, and who approved them. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Bundle, SHELVES};
use crate::digest::Digest;

/// The file, in the root of the workspace.
pub const LOCK: &str = "skills.lock";

/// The version of its format.
pub const LOCK_VERSION: u32 = 1;

/// The skills of a workspace, as they were approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The version of the format: [`LOCK_VERSION`].
    pub version: u32,
    /// The skills by name.
    pub skills: BTreeMap<String, Locked>,
}

/// One skill, byte by byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// Its folder, relative to the workspace.
    pub folder: String,
    /// Where it came from: `bundled:NAME`, `path:FOLDER`, `git:URL`.
    pub source: String,
    /// The commit, if it came from git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The digest of all its files: [`Bundle::digest`].
    #[serde(with = "text")]
    pub digest: Digest,
    /// Its files by path.
    pub files: BTreeMap<String, LockedFile>,
    /// What its files were granted beyond what it declares, by file: `env NAME`, `net WHAT`, or
    /// the code of a rule.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub granted: BTreeMap<String, BTreeSet<String>>,
    /// The dangers that are accepted: by the code of a rule, the files with their digests.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exceptions: BTreeMap<String, BTreeMap<String, LockedFile>>,
    /// The digest of the install report.
    #[serde(with = "text")]
    pub report: Digest,
    /// The id of the key of who installed it.
    #[serde(with = "text")]
    pub installer: Digest,
    /// What its approvers signed: DSSE envelopes.
    pub approvals: Vec<Value>,
}

/// One file of a skill: `SHA256`, or `SHA256 x` if its owner may execute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockedFile {
    /// What is in it.
    pub digest: Digest,
    /// Whether it can be executed.
    pub is_executable: bool,
}

impl Serialize for LockedFile {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mark = if self.is_executable { " x" } else { "" };
        to.serialize_str(&format!("{}{mark}", self.digest))
    }
}

impl<'de> Deserialize<'de> for LockedFile {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bare = text.strip_suffix(" x");
        let digest = bare
            .unwrap_or(&text)
            .parse()
            .map_err(serde::de::Error::custom)?;
        Ok(Self {
            digest,
            is_executable: bare.is_some(),
        })
    }
}

/// Digests as texts.
mod text {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::digest::Digest;

    pub(super) fn serialize<S: Serializer>(digest: &Digest, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&digest.to_string())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Why a lock file is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{LOCK}:{line}: {why}")]
pub struct BadLock {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl Locked {
    /// Why an exception does not hold: it is of other bytes than those that are locked.
    fn void(&self) -> Option<String> {
        let mut all = self
            .exceptions
            .iter()
            .flat_map(|(rule, files)| files.iter().map(move |(path, file)| (rule, path, file)));
        let (rule, path, _) = all.find(|(_, path, file)| self.files.get(*path) != Some(file))?;
        let (rule, path) = (rule.escape_debug(), path.escape_debug());
        Some(format!(
            "the exception from `{rule}` is not for the bytes that {path} has"
        ))
    }
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            version: LOCK_VERSION,
            skills: BTreeMap::new(),
        }
    }
}

impl Lock {
    /// Reads a lock file. Only the one form that there is of it is read: nothing is said twice, and
    /// nothing that this wf does not know.
    pub fn parse(text: &str) -> Result<Self, BadLock> {
        let lock: Self = serde_json::from_str(text).map_err(|error| BadLock {
            line: error.line().max(1),
            why: without_place(&error.to_string()),
        })?;
        if lock.version != LOCK_VERSION {
            let why = format!(
                "version {} is not {LOCK_VERSION}, which this wf reads",
                lock.version
            );
            return Err(BadLock { line: 2, why });
        }
        if let Some((name, why)) = lock.misplaced() {
            let is_it = |line: &&str| line.trim_start().starts_with(&format!("{name:?}:"));
            let line = text.lines().take_while(|line| !is_it(line)).count() + 1;
            return Err(BadLock { line, why });
        }
        let written = lock.text();
        if written != text {
            let same = text
                .lines()
                .zip(written.lines())
                .take_while(|(one, other)| one == other);
            let line = same.count() + 1;
            let why = "this is not as wf writes it: something stands twice, in another order, or is spaced otherwise";
            return Err(BadLock {
                line,
                why: why.to_owned(),
            });
        }
        Ok(lock)
    }

    /// A skill that could be called so nowhere, or lie there, and why.
    fn misplaced(&self) -> Option<(&str, String)> {
        self.skills.iter().find_map(|(name, locked)| {
            let is_name = crate::name::PlanId::parse(name).is_ok();
            let mut places = SHELVES.iter().map(|shelf| format!("{shelf}/{name}"));
            if !is_name {
                let why = "this is no name of a skill that can be locked";
                Some((name.as_str(), why.to_owned()))
            } else if let Some(why) = locked.void() {
                Some((name.as_str(), why))
            } else if places.any(|place| place == locked.folder) {
                None
            } else {
                let folder = locked.folder.escape_debug();
                Some((name.as_str(), format!("no skill `{name}` lies in {folder}")))
            }
        })
    }

    /// The one form that there is of it: sorted JSON, one line a file.
    pub fn text(&self) -> String {
        // A value keeps its keys sorted, whatever the order of fields.
        let value = serde_json::to_value(self).unwrap_or_default();
        serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
    }
}

fn without_place(message: &str) -> String {
    message
        .split(" at line ")
        .next()
        .unwrap_or(message)
        .to_owned()
}

/// How a file differs from what was locked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// The file, relative to the skill.
    pub path: String,
    /// How.
    pub kind: ChangeKind,
}

/// How a file differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It was not there.
    Added,
    /// It is gone.
    Removed,
    /// It holds something else.
    Changed,
    /// It became a program.
    Executable,
    /// It is a program no more.
    NotExecutable,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.kind {
            ChangeKind::Added => "was added",
            ChangeKind::Removed => "was removed",
            ChangeKind::Changed => "was changed",
            ChangeKind::Executable => "can be executed now",
            ChangeKind::NotExecutable => "can be executed no more",
        };
        write!(f, "{} {how}", self.path)
    }
}

/// The files of a skill as a lock writes them.
pub fn locked_files(bundle: &Bundle) -> BTreeMap<String, LockedFile> {
    let files = bundle.files.iter().map(|(path, file)| {
        let locked = LockedFile {
            digest: Digest::of(&file.bytes),
            is_executable: file.is_executable,
        };
        (path.clone(), locked)
    });
    files.collect()
}

/// Every difference between what was locked and what is there, by path.
pub fn changes(locked: &BTreeMap<String, LockedFile>, found: &Bundle) -> Vec<Change> {
    let now = locked_files(found);
    let mut all = Vec::new();
    let mut add = |path: &String, kind| {
        all.push(Change {
            path: path.clone(),
            kind,
        });
    };
    for (path, file) in &now {
        match locked.get(path) {
            None => add(path, ChangeKind::Added),
            Some(was) => {
                if was.digest != file.digest {
                    add(path, ChangeKind::Changed);
                }
                match (was.is_executable, file.is_executable) {
                    (false, true) => add(path, ChangeKind::Executable),
                    (true, false) => add(path, ChangeKind::NotExecutable),
                    _ => {}
                }
            }
        }
    }
    for path in locked.keys().filter(|path| !now.contains_key(*path)) {
        add(path, ChangeKind::Removed);
    }
    all.sort();
    all
}

#[cfg(test)]
mod tests;
