use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::files::{skill_files, skills};
use super::held::Held;
use super::trail::{End, follow};
use crate::digest::Digest;
use crate::exec::process::Command;
use crate::exec::{Unable, view};
use crate::model::Plan;

/// How a file of a skill that is not what was approved may be had.
const REMEDY: &str = "a skill is used as it was locked: take the change back, or lock the skill (wf skill lock) and begin anew";

/// The files of skills that were approved: only these are executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pins {
    /// The workspace's root; absolute.
    root: PathBuf,
    /// By paths relative to it.
    files: BTreeMap<String, Digest>,
    /// The folders of the skills whose scripts are run: of them, every file counts.
    skills: BTreeSet<String>,
}

impl Pins {
    /// The pins of a run of a plan in a workspace.
    pub fn new(
        plan: &Arc<Plan>,
        root: &Path,
        files: impl IntoIterator<Item = (String, Digest)>,
    ) -> Self {
        Self {
            root: root.to_path_buf(),
            files: files.into_iter().collect(),
            skills: skills(plan),
        }
    }

    /// Looks whether the skills that a command names are what was approved.
    pub fn hold(&self, command: &Command) -> Result<Held, Unable> {
        let mut held = Held::new(&self.root);
        let words = self.words(command);
        let is_named = |folder: &Path| words.iter().any(|word| word.starts_with(folder));
        for folder in self
            .skills
            .iter()
            .filter(|folder| is_named(Path::new(folder)))
        {
            // A script may read each of them, and one that was not there when it was approved could take the
            // place of another. No step makes them.
            for path in skill_files(&self.root, folder)? {
                self.look(&path, &mut held)?;
            }
        }
        // Some folders of a skill are no part of it, and nothing in them was approved.
        let is_of_skill = |word: &Path| self.skills.iter().any(|folder| word.starts_with(folder));
        for path in words.iter().filter(|word| is_of_skill(word)) {
            if let Some(path) = path.to_str() {
                self.look(path, &mut held)?;
            }
        }
        Ok(held)
    }

    /// The words of a command that could be paths, relative to the root.
    fn words(&self, command: &Command) -> BTreeSet<PathBuf> {
        let cwd = command
            .cwd
            .strip_prefix(&self.root)
            .unwrap_or(Path::new(""));
        let texts = command.argv.iter();
        texts
            .flat_map(|text| {
                let text = text.replace(&format!("{}/", self.root.display()), "");
                let below = view::named_in(&text, Path::new(""));
                below.into_iter().chain(view::named_in(&text, cwd))
            })
            .collect()
    }

    /// Looks at one file.
    fn look(&self, path: &str, held: &mut Held) -> Result<(), Unable> {
        let unable =
            |error: std::io::Error| Unable::logical(format!("cannot read `{path}`: {error}"));
        let (posts, end) = follow(&self.root, path, true).map_err(unable)?;
        for post in &posts {
            let said = match self.files.get(&post.path) {
                Some(pin) if *pin == post.digest => continue,
                Some(_) if post.is_link => "approved file is a link now",
                Some(_) => "approved file was changed",
                None if post.is_link && self.files.contains_key(path) => {
                    "approved file is a link now"
                }
                None => "file was not approved",
            };
            return Err(refusal(said, path));
        }
        if end == End::Nothing && self.files.contains_key(path) {
            return Err(refusal("approved file is gone", path));
        }
        if !posts.is_empty() {
            held.see(path, posts);
        }
        Ok(())
    }
}

fn refusal(said: &str, path: &str) -> Unable {
    Unable::logical(format!("{said}: {path}; {REMEDY}"))
}
