//! The look of a check at the workspace, before it runs and after it.
//!
//! A file changed undeclared is one of these:
//!
//! | who could have changed it | its content at the start is known | it is not |
//! |---|---|---|
//! | a step: granted without `writes`, or named in its text | an error | an error |
//! | a step with `writes`, or that is not confined, or somebody else | seen as it was | an error |
//! | nothing of the run | seen as it was | seen as it is |
//!
//! The state of a repository is seen as it was, whoever changed it, so a commit changes nothing for a check.

use std::{
    collections::BTreeSet,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

use wf_model::Check;

use super::{
    WorkspaceSnapshot, WorkspaceView, remedy,
    rules::{CheckRules, UnconfinedCheckRules, WorklessCheckRules},
};
use crate::{
    disk::files::{open_regular, read_bounded},
    manifest::{DifferenceRules, ManifestDifference, WorkspaceManifest},
    originals::{GitPart, Originals},
    work_error::WorkError,
};

/// The files of git by which a plan declares commits, branches or tags, wherever the folder of git is.
const GIT_PRODUCTS: [&str; 4] = [".git/HEAD", ".git/index", ".git/refs/heads/main", ".git/refs/tags/v1"];

impl WorkspaceView {
    /// Inspects the workspace for a check. `products` are globs of the products of the checked
    /// work. Fails on undeclared changes.
    /// `is_disturbed`: an earlier look at this check was in vain, since somebody changed files meanwhile.
    pub fn inspect(
        &self,
        check: &Check,
        products: &[String],
        is_disturbed: bool,
    ) -> Result<WorkspaceSnapshot, WorkError> {
        let now = self.manifest()?;
        let rules = CheckRules::new(self, check, products);
        if self.sees_others() {
            self.permitted_difference(&now, &WorklessCheckRules(&rules))?;
            return self.sight(now, &rules, Vec::new());
        }
        let difference = ManifestDifference::between(self.start()?, &now, &rules);
        let past = self.past(difference.changed, &now, &rules, is_disturbed)?;
        // Of git's folders outside of the workspace nothing is listed: they are always shown as they were.
        let is_of_steps = GIT_PRODUCTS.iter().any(|path| rules.may_change(Path::new(path)));
        let git_folders =
            if is_of_steps { Vec::new() } else { self.originals.write_git_folders(&self.copies)? };
        let sight = self.sight(now, &rules, difference.permitted)?;
        Ok(WorkspaceSnapshot {
            git_folders,
            hidden: with_traces(difference.new, past.hidden),
            caches: difference.caches,
            originals: past.originals,
            restored: past.restored,
            foreign: past.foreign,
            ..sight
        })
    }

    /// Returns what a check sees in place of files changed undeclared. Fails if a step is taken to have changed one,
    /// and if one was changed that steps could write and that nobody has as it was.
    fn past(
        &self,
        changed: Vec<PathBuf>,
        manifest: &WorkspaceManifest,
        rules: &CheckRules<'_>,
        is_disturbed: bool,
    ) -> Result<WorkspaceSnapshot, WorkError> {
        let (mut past, mut refused) = (WorkspaceSnapshot::default(), Vec::new());
        if changed.is_empty() && !is_disturbed {
            return Ok(past);
        }
        let start = self.start()?;
        let mut paths: BTreeSet<PathBuf> = changed.iter().cloned().collect();
        if is_disturbed {
            paths.extend(self.originals.state_files().cloned());
            paths.extend(self.originals.all_paths(start).into_iter().filter(|path| !rules.may_change(path)));
            past.hidden.extend(manifest.files_but(&|path, is_folder| !is_folder && !GitPart::is_trace(path)));
        }
        let mut contents = self.originals.contents(start, &paths);
        for path in changed {
            let content = contents.get(&path);
            let is_own = rules.is_fixed(&path) || self.is_bound || self.writers.are_suspect(&path);
            // Behind a link it would be another file.
            let is_there = manifest.has_file(&path);
            if is_there && content.is_some_and(|bytes| has_content(&self.root, start, &path, bytes)) {
                if !is_disturbed {
                    contents.remove(&path);
                }
            } else if GitPart::is_trace(&path) {
                // Of what was appended nobody has the beginning alone.
                past.hidden.extend((manifest.has_file(&path) && !is_disturbed).then_some(path));
            } else if GitPart::is_state(&path) {
                refused.extend(content.is_none().then_some(path));
            } else if !is_own && start.has_folder(&path) && manifest.has_file(&path) {
                // What was in the folder is restored, or refused, by itself.
                past.hidden.push(path);
            } else if content.is_some() && !is_own {
                past.restored.push(path);
            } else if content.is_none() && !is_own && !self.writers.may_write(&path) {
                past.foreign.push(path);
            } else {
                refused.push(path);
            }
        }
        if !refused.is_empty() {
            return Err(WorkError::logical(remedy::changed(&refused, &self.writers)));
        }
        past.originals = Originals::copies(&self.copies, start, &contents)?;
        Ok(past)
    }

    /// Returns what a check sees of files differing as they may.
    pub(super) fn sight(
        &self,
        manifest: WorkspaceManifest,
        rules: &CheckRules<'_>,
        mut products: Vec<PathBuf>,
    ) -> Result<WorkspaceSnapshot, WorkError> {
        products.retain(|path| !GitPart::is_working(path) || self.declared.has(path));
        let copies = self
            .kept_files
            .copies(&products.iter().filter(|path| rules.own.contains(*path)).cloned().collect())?;
        let given_paths = products.iter().filter(|path| rules.given_paths.contains(*path)).cloned().collect();
        Ok(WorkspaceSnapshot { manifest, products, copies, given_paths, ..WorkspaceSnapshot::default() })
    }

    /// Inspects the workspace for an unconfined check: nothing can be hidden from it, and it may write files. Fails if
    /// a changed undeclared file is one the check names or lists in `fixed`; in a run approved in advance, on any
    /// difference from the approved state.
    pub fn inspect_unconfined(&self, check: &Check, products: &[String]) -> Result<(), WorkError> {
        self.admit_unconfined()?;
        let scope = CheckRules::new(self, check, products);
        let (own, others) = (UnconfinedCheckRules(&scope), WorklessCheckRules(&scope));
        let rules: &dyn DifferenceRules = if self.sees_others() { &others } else { &own };
        self.permitted_difference(&self.manifest()?, rules).map(drop)
    }

    /// Returns the difference from the start of the run. Fails on unpermitted changes.
    fn permitted_difference(
        &self,
        manifest: &WorkspaceManifest,
        rules: &dyn DifferenceRules,
    ) -> Result<ManifestDifference, WorkError> {
        let difference = ManifestDifference::between(self.start()?, manifest, rules);
        if difference.changed.is_empty() {
            return Ok(difference);
        }
        Err(WorkError::logical(remedy::undeclared("changed", &difference.changed, &self.writers)))
    }

    /// Inspects the workspace again after a check. Fails if a file it may have read was changed or created.
    pub fn recheck(
        &self,
        before: &WorkspaceSnapshot,
        check: &Check,
        products: &[String],
    ) -> Result<(), WorkError> {
        let after = self.manifest()?;
        let shown = before.originals.iter().map(|original| &original.path);
        let hidden: Vec<PathBuf> = before.hidden.iter().chain(&before.caches).chain(shown).cloned().collect();
        let scope = CheckRules::new(self, check, products).meanwhile(&hidden);
        let meanwhile = |verb: &str, paths: &[PathBuf]| {
            let reason = remedy::undeclared(&format!("{verb} while it was checked"), paths, &self.writers);
            Err(WorkError::environmental(reason))
        };
        if self.sees_others() {
            let rules = WorklessCheckRules(&scope);
            let changed = ManifestDifference::between(&before.manifest, &after, &rules).changed;
            return if changed.is_empty() { Ok(()) } else { meanwhile("changed", &changed) };
        }
        let moved = ManifestDifference::moved(&before.manifest, &after);
        if let Some(folder) = moved.filter(|folder| !scope.may_change(folder)) {
            return meanwhile("changed", &[folder]);
        }
        let difference = ManifestDifference::between(&before.manifest, &after, &scope);
        match (difference.changed.as_slice(), difference.new.as_slice()) {
            ([], []) => Ok(()),
            ([], new) => meanwhile("made", new),
            (changed, _) => meanwhile("changed", changed),
        }
    }
}

/// Adds to hidden paths those that none of them covers.
fn with_traces(mut hidden: Vec<PathBuf>, traces: Vec<PathBuf>) -> Vec<PathBuf> {
    for path in traces {
        if !hidden.iter().any(|hidden_path| path.starts_with(hidden_path)) {
            hidden.push(path);
        }
    }
    hidden
}

/// True if a file has a content, and is executable as it was.
fn has_content(root: &Path, start_manifest: &WorkspaceManifest, path: &Path, bytes: &[u8]) -> bool {
    let Ok(file) = open_regular(&root.join(path), OFlags::RDONLY | OFlags::NOFOLLOW) else {
        return false;
    };
    let was = start_manifest.stamp(path).unwrap_or_default().mode & 0o777;
    let is_same = file.metadata().is_ok_and(|found| found.permissions().mode() & 0o777 == was);
    let limit = u64::try_from(bytes.len()).unwrap_or(u64::MAX).saturating_add(1);
    is_same && read_bounded(file, limit).is_ok_and(|found| found == bytes)
}
