//! The lock file: the skills of a workspace, byte by byte, and their approvals. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{SHELVES, SkillBundle};
use wf_base::digest::Sha256Digest;

/// The file, in the root of the workspace.
pub const LOCK: &str = "skills.lock";

/// The version of its format.
pub const LOCK_VERSION: u32 = 1;

/// The approved skills of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillLock {
    /// The version of the format: [`LOCK_VERSION`].
    pub version: u32,
    pub skills: BTreeMap<String, LockedSkill>,
}

/// One skill, byte by byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedSkill {
    /// Its folder, relative to the workspace.
    pub folder: String,
    /// Its origin: `bundled:NAME`, `path:FOLDER`, `git:URL`.
    pub source: String,
    /// The commit, if the origin is git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The digest of all its files: [`SkillBundle::digest`].
    #[serde(with = "text")]
    pub digest: Sha256Digest,
    /// Its files by path.
    pub files: BTreeMap<String, LockedFile>,
    /// The grants to its files beyond its declarations, by file: `env NAME`, `net WHAT`, or the
    /// code of a rule.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub granted: BTreeMap<String, BTreeSet<String>>,
    /// The accepted dangers: by the code of a rule, the files with their digests.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exceptions: BTreeMap<String, BTreeMap<String, LockedFile>>,
    /// The digest of the install report.
    #[serde(with = "text")]
    pub report: Sha256Digest,
    /// The id of the installer's key.
    #[serde(with = "text")]
    pub installer: Sha256Digest,
    /// The signatures of its approvers: DSSE envelopes.
    pub approvals: Vec<Value>,
}

/// One file of a skill: `SHA256`, or `SHA256 x` if its owner may execute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockedFile {
    /// The digest of its content.
    pub digest: Sha256Digest,
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
        let digest = bare.unwrap_or(&text).parse().map_err(serde::de::Error::custom)?;
        Ok(Self { digest, is_executable: bare.is_some() })
    }
}

/// Serializes digests as text.
mod text {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use wf_base::digest::Sha256Digest;

    pub(super) fn serialize<S: Serializer>(digest: &Sha256Digest, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&digest.to_string())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Sha256Digest, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The reason why a text is not a lock file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{LOCK}:{line}: {reason}")]
pub struct SkillLockError {
    /// The line, from 1.
    pub line: usize,
    /// The problem.
    pub reason: String,
}

impl LockedSkill {
    /// Returns the reason why an exception is void: it covers other bytes than the locked ones.
    fn void_reason(&self) -> Option<String> {
        let mut entries = self
            .exceptions
            .iter()
            .flat_map(|(rule, files)| files.iter().map(move |(path, file)| (rule, path, file)));
        let (rule, path, _) = entries.find(|(_, path, file)| self.files.get(*path) != Some(file))?;
        let (rule, path) = (rule.escape_debug(), path.escape_debug());
        Some(format!("the exception from `{rule}` does not apply to the current content of {path}"))
    }
}

impl Default for SkillLock {
    fn default() -> Self {
        Self { version: LOCK_VERSION, skills: BTreeMap::new() }
    }
}

impl SkillLock {
    /// Reads a lock file. Only its canonical form is accepted: no duplicates, and nothing unknown
    /// to this version of wf.
    pub fn parse(text: &str) -> Result<Self, SkillLockError> {
        let lock: Self = serde_json::from_str(text).map_err(|error| SkillLockError {
            line: error.line().max(1),
            reason: without_place(&error.to_string()),
        })?;
        if lock.version != LOCK_VERSION {
            let reason =
                format!("unsupported version {}; this wf reads version {LOCK_VERSION}", lock.version);
            return Err(SkillLockError { line: 2, reason });
        }
        if let Some((name, reason)) = lock.first_invalid() {
            let is_it = |line: &&str| line.trim_start().starts_with(&format!("{name:?}:"));
            let line = text.lines().take_while(|line| !is_it(line)).count() + 1;
            return Err(SkillLockError { line, reason });
        }
        let written = lock.text();
        if written != text {
            let same = text.lines().zip(written.lines()).take_while(|(old_line, other)| old_line == other);
            let line = same.count() + 1;
            let reason = "this file is not in the format that wf writes: duplicate, unsorted or \
                          differently formatted entries";
            return Err(SkillLockError { line, reason: reason.to_owned() });
        }
        Ok(lock)
    }

    /// Returns a skill with an invalid name, folder or exception, and the reason.
    fn first_invalid(&self) -> Option<(&str, String)> {
        self.skills.iter().find_map(|(name, locked)| {
            let is_name = wf_base::name::PlanId::parse(name).is_ok();
            let mut places = SHELVES.iter().map(|shelf| format!("{shelf}/{name}"));
            if !is_name {
                let reason = "this is not a valid name for a locked skill";
                Some((name.as_str(), reason.to_owned()))
            } else if let Some(reason) = locked.void_reason() {
                Some((name.as_str(), reason))
            } else if places.any(|place| place == locked.folder) {
                None
            } else {
                let folder = locked.folder.escape_debug();
                Some((name.as_str(), format!("skill `{name}` not found in {folder}")))
            }
        })
    }

    /// Returns its canonical form: sorted JSON, one line per file.
    pub fn text(&self) -> String {
        // A `Value` keeps its keys sorted, whatever the order of fields.
        let value = serde_json::to_value(self).unwrap_or_default();
        serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
    }
}

fn without_place(message: &str) -> String {
    message.split(" at line ").next().unwrap_or(message).to_owned()
}

/// A difference between a file and its locked state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkillFileChange {
    /// The file, relative to the skill.
    pub path: String,
    /// The kind of difference.
    pub kind: SkillFileChangeKind,
}

/// The kind of difference of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkillFileChangeKind {
    Added,
    Removed,
    /// Its content changed.
    Changed,
    /// It became executable.
    Executable,
    /// It is no longer executable.
    NotExecutable,
}

impl fmt::Display for SkillFileChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.kind {
            SkillFileChangeKind::Added => "was added",
            SkillFileChangeKind::Removed => "was removed",
            SkillFileChangeKind::Changed => "was changed",
            SkillFileChangeKind::Executable => "is now executable",
            SkillFileChangeKind::NotExecutable => "is no longer executable",
        };
        write!(f, "{} {how}", self.path)
    }
}

/// Returns the files of a skill in the form of a lock file.
pub fn locked_files(bundle: &SkillBundle) -> BTreeMap<String, LockedFile> {
    let files = bundle.files.iter().map(|(path, file)| {
        let locked =
            LockedFile { digest: Sha256Digest::of_bytes(&file.bytes), is_executable: file.is_executable };
        (path.clone(), locked)
    });
    files.collect()
}

/// Returns every difference between the locked and the present files, by path.
pub fn changes(locked: &BTreeMap<String, LockedFile>, bundle: &SkillBundle) -> Vec<SkillFileChange> {
    let now = locked_files(bundle);
    let mut skill_file_changes = Vec::new();
    let mut add = |path: &String, kind| {
        skill_file_changes.push(SkillFileChange { path: path.clone(), kind });
    };
    for (path, file) in &now {
        match locked.get(path) {
            None => add(path, SkillFileChangeKind::Added),
            Some(was) => {
                if was.digest != file.digest {
                    add(path, SkillFileChangeKind::Changed);
                }
                match (was.is_executable, file.is_executable) {
                    (false, true) => add(path, SkillFileChangeKind::Executable),
                    (true, false) => add(path, SkillFileChangeKind::NotExecutable),
                    _ => {}
                }
            }
        }
    }
    for path in locked.keys().filter(|path| !now.contains_key(*path)) {
        add(path, SkillFileChangeKind::Removed);
    }
    skill_file_changes.sort();
    skill_file_changes
}

#[cfg(test)]
mod tests;
