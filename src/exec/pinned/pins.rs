use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::GlobSet;
use serde::{Deserialize, Serialize};

use super::files::{skill_files, skills};
use super::held::{Held, Seen};
use super::trail::{End, Post, follow};
use crate::digest::Digest;
use crate::exec::Unable;
use crate::exec::files::globs;
use crate::exec::fixed::{Looked, Role, Said, executed, tidy};
use crate::exec::process::Command;
use crate::exec::view::{family, product_globs};
use crate::model::Plan;

/// How a file that is not what was approved may be had.
const REMEDY: &str =
    "approve the plan again, or let the step that makes it name it in its `artifacts`";

/// The same of a file of a skill, which no step may make.
const REMEDY_OF_SKILL: &str = "a skill is used as it was locked: take the change back, or lock the skill (wf skill lock) and begin anew";

/// The files that were approved: only these are executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pins {
    /// The workspace's root; absolute.
    root: PathBuf,
    /// By paths relative to it.
    files: BTreeMap<String, Digest>,
    /// What steps say that they make, as globs: that is approved with them.
    products: Vec<String>,
    /// The folders of the skills whose scripts are run: of them, every file counts.
    skills: BTreeSet<String>,
    /// Whether nothing but these files of skills was approved in advance.
    only_skills: bool,
}

impl Pins {
    /// The pins of a run of a plan in a workspace.
    pub fn new(
        plan: &Arc<Plan>,
        root: &Path,
        files: impl IntoIterator<Item = (String, Digest)>,
    ) -> Self {
        let products = family(plan)
            .into_iter()
            .flat_map(|plan| product_globs(plan));
        Self {
            root: root.to_path_buf(),
            files: files.into_iter().collect(),
            products: products.collect(),
            skills: skills(plan),
            only_skills: false,
        }
    }

    /// The pins of a run of which only the files of skills were approved in advance.
    #[must_use]
    pub fn only_skills(self) -> Self {
        Self {
            only_skills: true,
            ..self
        }
    }

    /// The files and their digests.
    pub fn files(&self) -> impl Iterator<Item = (&str, &Digest)> {
        self.files
            .iter()
            .map(|(path, digest)| (path.as_str(), digest))
    }

    /// Looks whether all that a command executes is what was approved.
    pub fn hold(&self, command: &Command) -> Result<Held, Unable> {
        let products = globs(self.products.iter().map(String::as_str));
        let vars = command.env.iter().cloned();
        let said = Said {
            argv: command.argv.iter().cloned().map(Some).collect(),
            vars: vars.map(|(name, value)| (name, Some(value))).collect(),
            cwd: command.cwd.clone(),
            root: &self.root,
        };
        let mut held = Held::new(&self.root);
        let executed = executed(said, &mut Looked::default());
        let words = self.words(command);
        for folder in self.run_from(&words, executed.keys()) {
            self.whole(folder, &mut held)?;
        }
        // Some folders of a skill are no part of it, and nothing in them was approved.
        let of_skills = words.iter().chain(executed.keys());
        for path in of_skills.filter(|path| self.is_of_skill(path)) {
            held.see(self.look(path, Role::Script, &[])?);
        }
        let others = executed.into_iter().filter(|_| !self.only_skills);
        for (path, role) in others {
            if !is_product(&products, &path) {
                held.see(self.look(&path, role, &products)?);
            }
        }
        // A sandbox finds its program in its own view.
        if command.sandbox.is_none() {
            held.direct(command);
        }
        Ok(held)
    }

    /// The words of a command that could be paths, relative to the root.
    fn words(&self, command: &Command) -> Vec<String> {
        let words = command.argv.iter();
        let words = words.map(|word| tidy(&command.cwd.join(word)));
        let below = words.filter_map(|word| {
            let below = word.strip_prefix(&self.root).ok()?;
            Some(below.to_str()?.to_owned())
        });
        below.collect()
    }

    /// The skills that a command runs something of.
    fn run_from<'a>(
        &'a self,
        words: &'a [String],
        executed: impl Iterator<Item = &'a String> + Clone,
    ) -> impl Iterator<Item = &'a String> {
        self.skills.iter().filter(move |folder| {
            let mut all = words.iter().chain(executed.clone());
            all.any(|path| Path::new(path).starts_with(folder))
        })
    }

    fn is_of_skill(&self, path: &str) -> bool {
        let mut skills = self.skills.iter();
        skills.any(|folder| Path::new(path).starts_with(folder))
    }

    /// Looks at all files of a skill: a script may read each of them, and one that was not there
    /// when it was approved could take the place of another. No step makes them.
    fn whole(&self, folder: &str, held: &mut Held) -> Result<(), Unable> {
        for path in skill_files(&self.root, folder)? {
            held.see(self.look(&path, Role::Script, &[])?);
        }
        Ok(())
    }

    /// Looks at one file.
    fn look(&self, path: &str, role: Role, products: &[GlobSet]) -> Result<Seen, Unable> {
        let unable =
            |error: std::io::Error| Unable::logical(format!("cannot read `{path}`: {error}"));
        let (posts, end) = follow(&self.root, path, true).map_err(unable)?;
        for post in &posts {
            if !is_product(products, &post.path) {
                self.compare(path, role, post)?;
            }
        }
        if end == End::Nothing && self.files.contains_key(path) {
            return Err(self.refusal(path, &format!("approved file is gone: {path}")));
        }
        Ok(Seen::new(path, role, posts))
    }

    fn compare(&self, named: &str, role: Role, post: &Post) -> Result<(), Unable> {
        let said = match self.files.get(&post.path) {
            Some(pin) if *pin == post.digest => return Ok(()),
            Some(_) if post.file.is_some() => format!("approved file was changed: {}", post.path),
            Some(_) => format!("approved file is a link now: {}", post.path),
            None if post.file.is_none() && self.files.contains_key(named) => {
                format!("approved file is a link now: {named}")
            }
            None if role == Role::Read => return Ok(()),
            None => format!("file was not approved: {named}"),
        };
        Err(self.refusal(named, &said))
    }

    fn refusal(&self, path: &str, said: &str) -> Unable {
        let remedy = if self.is_of_skill(path) {
            REMEDY_OF_SKILL
        } else {
            REMEDY
        };
        Unable::logical(format!("{said}; {remedy}"))
    }
}

fn is_product(products: &[GlobSet], path: &str) -> bool {
    products.iter().any(|glob| glob.is_match(path))
}
