//! The check of pinned files: when a process starts, and after it for a touch meanwhile.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use wf_base::digest::Sha256Digest;
use wf_model::Plan;

use super::{
    files::{skill_files, skills},
    trail::{PathEnd, PathEntry, resolve_path},
};
use crate::{processes::process::ProcessCommand, view, work_error::WorkError};

/// The remedy for a file of a skill differing from the approved one.
const REMEDY: &str = "skills run only as locked: undo the change, or lock the skill again (wf \
    skill lock) and start a new run";

/// The approved files of skills: only these are executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedFiles {
    /// The workspace's root; absolute.
    root: PathBuf,
    /// The digests by path, relative to the root.
    files: BTreeMap<String, Sha256Digest>,
    /// The folders of the skills with executed scripts: every file in them counts.
    skills: BTreeSet<String>,
}

impl PinnedFiles {
    /// Returns the pins for a run of a plan in a workspace.
    pub fn new(
        plan: &Arc<Plan>,
        root: &Path,
        files: impl IntoIterator<Item = (String, Sha256Digest)>,
    ) -> Self {
        Self { root: root.to_path_buf(), files: files.into_iter().collect(), skills: skills(plan) }
    }

    /// Checks that the skills a command names are unchanged since their approval.
    pub fn guard_command(&self, command: &ProcessCommand) -> Result<SkillFileGuard, WorkError> {
        let mut guard = SkillFileGuard::new(&self.root);
        let words = self.words(command);
        let is_named = |folder: &Path| words.iter().any(|word| word.starts_with(folder));
        for folder in self.skills.iter().filter(|folder| is_named(Path::new(folder))) {
            self.check_folder(folder, &mut guard)?;
        }
        // Some folders inside a skill's folder are not part of it, and nothing in them was approved.
        let is_of_skill = |word: &Path| self.skills.iter().any(|folder| word.starts_with(folder));
        for path in words.iter().filter(|word| is_of_skill(word)) {
            if let Some(path) = path.to_str() {
                self.check_file(path, &mut guard)?;
            }
        }
        Ok(guard)
    }

    /// Checks that the folder of a skill is unchanged since its approval.
    pub fn check_skill(&self, folder: &str) -> Result<(), WorkError> {
        self.check_folder(folder, &mut SkillFileGuard::new(&self.root))
    }

    /// Checks each file of a skill. A script may read each of them, and a file added after the approval could take the
    /// place of another. No step creates them.
    fn check_folder(&self, folder: &str, guard: &mut SkillFileGuard) -> Result<(), WorkError> {
        for path in skill_files(&self.root, folder)? {
            self.check_file(&path, guard)?;
        }
        Ok(())
    }

    /// Returns the words of a command that could be paths, relative to the root.
    fn words(&self, command: &ProcessCommand) -> BTreeSet<PathBuf> {
        let cwd = command.cwd.strip_prefix(&self.root).unwrap_or(Path::new(""));
        let texts = command.argv.iter();
        texts
            .flat_map(|text| {
                let text = text.replace(&format!("{}/", self.root.display()), "");
                let below = view::named_in(&text, Path::new(""));
                below.into_iter().chain(view::named_in(&text, cwd))
            })
            .collect()
    }

    fn check_file(&self, path: &str, guard: &mut SkillFileGuard) -> Result<(), WorkError> {
        let unable = |error: std::io::Error| WorkError::logical(format!("cannot read `{path}`: {error}"));
        let (posts, end) = resolve_path(&self.root, path, true).map_err(unable)?;
        for post in &posts {
            let message = match self.files.get(&post.path) {
                Some(pin) if *pin == post.digest => continue,
                Some(_) if post.is_link => "approved file is now a link",
                Some(_) => "approved file changed",
                None if post.is_link && self.files.contains_key(path) => "approved file is now a link",
                None => "file is not approved",
            };
            return Err(refusal(message, path));
        }
        if end == PathEnd::Nothing && self.files.contains_key(path) {
            return Err(refusal("approved file is missing", path));
        }
        if !posts.is_empty() {
            guard.see(path, posts);
        }
        Ok(())
    }
}

fn refusal(message: &str, path: &str) -> WorkError {
    WorkError::logical(format!("{message}: {path}; {REMEDY}"))
}

/// The files of skills a process may read, from its start to its exit.
#[derive(Debug)]
pub struct SkillFileGuard {
    root: PathBuf,
    seen_entries: Vec<(String, Vec<PathEntry>)>,
}

impl SkillFileGuard {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), seen_entries: Vec::new() }
    }

    /// Records a file as it was when the process started, and the links that led to it.
    pub(super) fn see(&mut self, path: &str, entries: Vec<PathEntry>) {
        self.seen_entries.push((path.to_owned(), entries));
    }

    /// Returns the reason for a failure if a file was touched since, even if it is unchanged.
    pub fn change_reason(&self) -> Option<WorkError> {
        let mut entries = self.seen_entries.iter();
        let (path, _) = entries.find(|(path, posts)| self.is_touched(path, posts))?;
        let message = format!("approved file changed while the step ran: {path}");
        Some(WorkError::logical(message))
    }

    fn is_touched(&self, path: &str, entries: &[PathEntry]) -> bool {
        let Ok((now, _)) = resolve_path(&self.root, path, false) else {
            return true;
        };
        let same =
            |(before, now): (&PathEntry, &PathEntry)| before.path == now.path && before.stamp == now.stamp;
        now.len() != entries.len() || !entries.iter().zip(&now).all(same)
    }
}
