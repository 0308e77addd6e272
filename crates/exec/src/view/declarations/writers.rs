//! The files steps of a run could have written, with any declaration.
//!
//! The writer of a file is unknown. A confined step writes nothing but what it is granted, and is taken to have written
//! all of that, unless it says which files it makes; a step not confined may write everything, and is taken to have
//! written what its own text names. All else was changed beside the run.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use wf_base::name::Name;
use wf_model::{Check, JsonObject, Plan, Step, StepWork, expr::Template};

use super::{
    declared::{DeclaredProducts, family},
    named,
};

/// The files the steps of a plan, and of all plans it uses, could write.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepWriters {
    /// The files and folders that confined steps may write.
    grants: Vec<PathBuf>,
    /// The files and folders that confined steps may write which do not say what they make.
    vague_grants: Vec<PathBuf>,
    /// The paths named by unconfined steps.
    named: BTreeSet<PathBuf>,
    /// The files and folders controlling `wf`, which a grant of a folder above them does not cover.
    control: Vec<PathBuf>,
    /// True if there is a step that may write everything.
    has_unconfined: bool,
}

impl StepWriters {
    /// Collects the knowledge before a run.
    pub(crate) fn from_plan(plan: &Arc<Plan>) -> Self {
        let mut writers = Self::default();
        for step in family(plan).into_iter().flat_map(|plan| plan.steps()).flat_map(Step::ways) {
            writers.add(step);
        }
        writers
    }

    fn add(&mut self, step: &Step) {
        let granted = step.permissions().flat_map(|allow| &allow.write).map(|path| plain(path));
        let granted: Vec<PathBuf> = granted.collect();
        if step.writes.is_empty() {
            self.vague_grants.extend(granted.iter().cloned());
        }
        self.grants.extend(granted);
        match &step.work {
            StepWork::Run(_) | StepWork::Exec(_) if step.allow.is_none() => {
                self.has_unconfined = true;
                self.named.extend(changed_by(step));
            }
            // The plan that it makes is not known.
            StepWork::Generated(_) => self.has_unconfined = true,
            _ => {}
        }
    }

    /// Adds those of a used plan.
    #[must_use]
    pub(crate) fn and(mut self, plan: &Arc<Plan>) -> Self {
        let Self { grants, vague_grants, named, has_unconfined, control: _ } = Self::from_plan(plan);
        self.grants.extend(grants);
        self.vague_grants.extend(vague_grants);
        self.named.extend(named);
        self.has_unconfined |= has_unconfined;
        self
    }

    /// Adds the files and folders controlling `wf`, relative to the workspace.
    #[must_use]
    pub(crate) fn with_control(self, control: &[String]) -> Self {
        Self { control: control.iter().map(|path| plain(path)).collect(), ..self }
    }

    /// True if a file controls `wf`.
    pub(crate) fn is_control(&self, path: &Path) -> bool {
        self.control.iter().any(|file| path.starts_with(file))
    }

    /// True if the text of a step names a file other than to read it.
    pub(crate) fn is_named(&self, path: &Path) -> bool {
        self.named.contains(path)
    }

    /// True if a step could have written a file.
    pub(crate) fn may_write(&self, path: &Path) -> bool {
        self.has_unconfined || self.has_grant(&self.grants, path)
    }

    /// True if a step is taken to have written a file that has changed.
    pub(crate) fn are_suspect(&self, path: &Path) -> bool {
        self.named.contains(path) || self.has_vague_grant(path)
    }

    /// True if a step may write a file that does not say which files it makes.
    pub(crate) fn has_vague_grant(&self, path: &Path) -> bool {
        self.has_grant(&self.vague_grants, path)
    }

    fn has_grant(&self, grants: &[PathBuf], path: &Path) -> bool {
        let is_of_git = |path: &Path| path.iter().any(|part| part == ".git");
        let is_kept_from = |file: &PathBuf| {
            path.starts_with(file) && !self.grants.iter().any(|grant| grant.starts_with(file))
        };
        if self.control.iter().any(is_kept_from) {
            return false;
        }
        grants.iter().any(|grant| path.starts_with(grant) && is_of_git(path) == is_of_git(grant))
    }
}

fn plain(path: &str) -> PathBuf {
    Path::new(path).components().filter(|part| *part != Component::CurDir).collect()
}

/// The programs without effects: they only read the files they name. Nothing but a message depends on this list: what a
/// step may have changed is never seen by a check, whoever is taken to have changed it.
const READERS: [&str; 18] = [
    "[", "cat", "cd", "cmp", "cut", "diff", "echo", "egrep", "fgrep", "file", "grep", "head", "ls", "printf",
    "stat", "tail", "test", "wc",
];

/// Returns the paths the text of a step names, but for those its commands only read.
fn changed_by(step: &Step) -> BTreeSet<PathBuf> {
    let StepWork::Run(script) = &step.work else {
        return named_by(step);
    };
    let cwd = PathBuf::from(step.cwd.as_ref().map(Template::source).unwrap_or_default());
    let commands = script.text.split(['\n', ';', '|', '&', '(', ')', '{', '}', '`']);
    let texts = commands.map(|command| {
        let program = command.split_whitespace().find(|word| !word.contains('='));
        let is_reader = program.is_some_and(|program| READERS.contains(&program));
        // What is written follows the sign.
        if is_reader { command.split_once('>').map_or("", |(_, target)| target) } else { command }
    });
    texts.flat_map(|text| named::in_text(text, &cwd)).collect()
}

/// Returns the paths the text of a step names.
pub(super) fn named_by(step: &Step) -> BTreeSet<PathBuf> {
    let Some(probe) = step.work.probe() else {
        return BTreeSet::new();
    };
    named::paths(&Check {
        probe: Some(probe),
        cwd: step.cwd.as_ref().map(|cwd| cwd.source().to_owned()),
        ..Check::new(step.id.clone())
    })
}

/// An undeclared file named by both a check and a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndeclaredFile {
    /// The step of the check; `None`: a check of the plan itself.
    pub step: Option<Name>,
    pub check: Name,
    /// The file, relative to the workspace.
    pub path: PathBuf,
    /// The step naming it.
    pub maker: Name,
}

/// Returns the files that checks of a plan read and that steps seem to create without a declaration: missing files the
/// texts of both name.
pub fn undeclared_files(plan: &Arc<Plan>, root: &Path) -> Vec<UndeclaredFile> {
    let declared = DeclaredProducts::new(plan, &JsonObject::new());
    let steps = plan.steps().iter();
    let of_steps = steps.flat_map(|step| step.verify.iter().map(|check| (Some(&step.id), check)));
    let of_plan = plan.parts().verify.iter().map(|check| (None, check));
    let mut files = Vec::new();
    for (step, check) in of_steps.chain(of_plan) {
        let paths = named::paths(check).into_iter();
        let open =
            paths.filter(|path| is_file_name(path) && !declared.has(path) && !root.join(path).exists());
        for path in open {
            let maker = plan.steps().iter().find(|step| named_by(step).contains(&path));
            files.extend(maker.map(|maker| UndeclaredFile {
                step: step.cloned(),
                check: check.name.clone(),
                path,
                maker: maker.id.clone(),
            }));
        }
    }
    files
}

/// True if a word looks like a file name, which not every word of a command does.
fn is_file_name(path: &Path) -> bool {
    path.extension().is_some() || path.components().count() > 1
}
