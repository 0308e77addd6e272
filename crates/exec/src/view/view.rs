use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::GlobSet;

use crate::WorkError;
use crate::files::globs;
use crate::manifest::{DifferenceRules, ExcludedFiles, ManifestDifference, WorkspaceManifest};
use wf_base::digest::Sha256Digest;
use wf_core::machine::{Baseline, HIDDEN_LIMIT, PinnedFile};
use wf_model::{Check, Gate, GateProvider, JsonObject, Plan, StepWork};

use super::declared::{DeclaredProducts, family};
use super::{git_objects, named, tree};

/// The maximum number of paths in a message.
const MAX_NAMED_PATHS: usize = 3;

/// The remedy for a changed file, so that it can be checked.
const REMEDY: &str = "list it in `writes` (with `allow`: in `allow.write`) or in `artifacts` of \
    the step that creates it";

/// The remedy for unapproved files that keep a step from beginning.
const REMEDY_OF_NEW: &str = "remove it, have it approved (in a git repository: add it first), \
    list it in `writes` (with `allow`: in `allow.write`) of the step that creates it, or confine \
    this step with `allow`, which hides it";

/// The remedy for a workspace that differs from the approved one.
const REMEDY_OF_APPROVED: &str = "restore it, or approve the plan again; a step must list what \
    it creates in `writes` (with `allow`: in `allow.write`) or in `artifacts`";

/// The view of a run's checks on its workspace.
#[derive(Clone, Debug)]
pub struct WorkspaceView {
    root: PathBuf,
    excluded: ExcludedFiles,
    /// The workspace when the run began, or the reason why it is unknown.
    start: Result<Arc<WorkspaceManifest>, String>,
    declared: DeclaredProducts,
    /// True if checks see the workspace as it is.
    pub(super) is_open: bool,
    /// True if steps, too, begin only in the approved workspace.
    is_bound: bool,
}

/// The workspace just before a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceSnapshot {
    manifest: WorkspaceManifest,
    /// The new undeclared files, relative to the workspace: a folder stands for all its content.
    pub hidden: Vec<PathBuf>,
}

impl WorkspaceView {
    /// True if a program judges any part of a plan or of a plan that it uses.
    pub fn is_needed(plan: &Arc<Plan>) -> bool {
        family(plan).into_iter().any(|plan| {
            let mut steps = plan.steps().iter();
            let parts = plan.parts();
            let is_script = |gate: &Gate| matches!(gate.provider, GateProvider::Script(_));
            !parts.verify.is_empty()
                || parts.planner.is_some()
                || parts.gates.iter().any(|gate| is_script(gate))
                || steps.any(|step| {
                    // A plan of the run may have checks.
                    let is_generated = matches!(step.work, StepWork::Generated(_));
                    is_generated || !step.verify.is_empty() || step.gates.iter().any(|gate| is_script(gate))
                })
        })
    }

    /// Takes the view of a run that begins now. The state and the keys (`apart`) are left out.
    pub fn take(root: &Path, apart: &[PathBuf], plan: &Arc<Plan>, params: &JsonObject) -> Self {
        let excluded = ExcludedFiles::new(apart.iter().map(PathBuf::as_path));
        let start = WorkspaceManifest::of_workspace(root, &excluded).map_err(|unable| unable.reason);
        Self::new(root, excluded, plan, params, start)
    }

    /// Restores the view of a run that began earlier. `record` is its record.
    pub fn recorded(
        root: &Path,
        apart: &[PathBuf],
        plan: &Arc<Plan>,
        params: &JsonObject,
        record: Result<Vec<u8>, String>,
    ) -> Self {
        let start = record.and_then(|bytes| {
            WorkspaceManifest::from_bytes(&bytes).map_err(|malformed| malformed.to_string())
        });
        let excluded = ExcludedFiles::new(apart.iter().map(PathBuf::as_path));
        Self::new(root, excluded, plan, params, start)
    }

    fn new(
        root: &Path,
        excluded: ExcludedFiles,
        plan: &Arc<Plan>,
        params: &JsonObject,
        start: Result<WorkspaceManifest, String>,
    ) -> Self {
        Self {
            root: root.to_path_buf(),
            excluded,
            start: start.map(Arc::new),
            declared: DeclaredProducts::new(plan, params),
            is_open: false,
            is_bound: false,
        }
    }

    /// Restricts the view to a run approved in advance: to these files and the approved products.
    /// All other files count as absent at the start of the run.
    #[must_use]
    pub fn bound(mut self, files: &[PinnedFile], products: &[String]) -> Self {
        self = self.of_approved(products);
        self.start = self.start.and_then(|start| {
            let bound = tree::bound(&self.root, &start, &self.declared, files);
            bound.map(Arc::new).map_err(|unable| unable.reason)
        });
        self
    }

    /// Marks the run as approved in advance, with its files already compared when it began.
    #[must_use]
    pub fn of_approved(mut self, products: &[String]) -> Self {
        self.declared = self.declared.and(products);
        self.is_bound = true;
        self
    }

    /// True if the workspace is inspected when a step begins.
    pub fn is_bound(&self) -> bool {
        self.is_bound
    }

    /// Returns the paths hidden from a step that begins now: in a run approved in advance, new
    /// undeclared ones. Fails if an approved file has changed.
    pub fn admit(&self) -> Result<Vec<PathBuf>, WorkError> {
        self.new_undeclared_paths("changed since it was approved")
    }

    /// Does the same for a step from which nothing can be hidden: fails if a path would have to be.
    pub fn admit_unconfined(&self) -> Result<(), WorkError> {
        let new = self.admit()?;
        if new.is_empty() {
            return Ok(());
        }
        let reason = format!("not approved, not declared: {}; {REMEDY_OF_NEW}", paths_summary(&new));
        Err(WorkError::logical(reason))
    }

    /// Fails if an approved file changed while a step ran.
    pub fn confirm(&self) -> Result<(), WorkError> {
        self.new_undeclared_paths("changed while the step ran").map(drop)
    }

    /// Returns the new undeclared paths. Fails if an approved file has changed.
    fn new_undeclared_paths(&self, said: &str) -> Result<Vec<PathBuf>, WorkError> {
        if !self.is_bound {
            return Ok(Vec::new());
        }
        let rules = PreapprovedStepRules(&self.declared);
        self.new_paths(&self.manifest()?, &rules, said, REMEDY_OF_APPROVED)
    }

    fn manifest(&self) -> Result<WorkspaceManifest, WorkError> {
        WorkspaceManifest::of_workspace(&self.root, &self.excluded)
    }

    fn start(&self) -> Result<&WorkspaceManifest, WorkError> {
        let start = self.start.as_deref();
        start.map_err(|reason| {
            let reason = format!("the state of the workspace at the start of the run is unknown: {reason}");
            WorkError::environmental(reason)
        })
    }

    /// Returns the view of a used plan.
    #[must_use]
    pub fn within(&self, plan: &Arc<Plan>, params: &JsonObject) -> Self {
        Self { declared: self.declared.with(plan, params), ..self.clone() }
    }

    /// Returns the view for repeated checks after the run: the workspace as it is, as without a sandbox.
    #[must_use]
    pub fn open(self) -> Self {
        Self { is_open: true, ..self }
    }

    /// True if checks see the workspace as it is.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Returns the record of the workspace when the run began, and its digest. If that state is
    /// unknown, the record is not a valid manifest, so it is never used as one later.
    pub fn record(&self) -> (Vec<u8>, Baseline) {
        let start = self.start.as_ref();
        let bytes = start.map(|start| start.to_bytes()).unwrap_or_default();
        let baseline = Baseline {
            manifest: Sha256Digest::of_bytes(&bytes),
            entries: start.map(|start| start.count()).unwrap_or_default(),
        };
        (bytes, baseline)
    }

    /// Inspects the workspace for a check. `products` are globs of the products of the checked
    /// work. Fails on undeclared changes.
    pub fn inspect(&self, check: &Check, products: &[String]) -> Result<WorkspaceSnapshot, WorkError> {
        let now = self.manifest()?;
        let hidden = self.new_paths(&now, &CheckRules::new(self, check, products), "changed", REMEDY)?;
        Ok(WorkspaceSnapshot { manifest: now, hidden })
    }

    /// Inspects the workspace for an unconfined check: nothing can be hidden from it, and it may
    /// write files. Fails if an undeclared file was changed that the check names or lists in
    /// `fixed`; in a run approved in advance, on any difference from the approved state.
    pub fn inspect_unconfined(&self, check: &Check, products: &[String]) -> Result<(), WorkError> {
        self.admit_unconfined()?;
        let scope = CheckRules::new(self, check, products);
        let own = UnconfinedCheckRules(&scope);
        self.new_paths(&self.manifest()?, &own, "changed", REMEDY).map(drop)
    }

    /// Returns the new paths. Fails on changes that are not permitted; `verb` says when, and `remedy`
    /// what helps.
    fn new_paths(
        &self,
        now: &WorkspaceManifest,
        rules: &dyn DifferenceRules,
        verb: &str,
        remedy: &str,
    ) -> Result<Vec<PathBuf>, WorkError> {
        let difference = ManifestDifference::between(self.start()?, now, rules);
        if difference.changed.is_empty() {
            return Ok(difference.new);
        }
        let paths = paths_summary(&difference.changed);
        let remedy = git_objects::remedy_of(&difference.changed, remedy);
        let reason = format!("{verb}, not declared: {paths}; {remedy}");
        Err(WorkError::logical(reason))
    }

    /// Inspects the workspace again after a check. Fails if a file that it may have read was
    /// changed or created.
    pub fn recheck(
        &self,
        before: &WorkspaceSnapshot,
        check: &Check,
        products: &[String],
    ) -> Result<(), WorkError> {
        let after = self.manifest()?;
        let scope = CheckRules { hidden: &before.hidden, ..CheckRules::new(self, check, products) };
        let meanwhile = |verb: &str, found: &[PathBuf]| {
            let paths = paths_summary(found);
            let remedy = git_objects::remedy_of(found, REMEDY);
            let reason = format!("{verb} while it was checked, not declared: {paths}; {remedy}");
            Err(WorkError::environmental(reason))
        };
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

/// The permitted differences for one check.
struct CheckRules<'a> {
    declared: &'a DeclaredProducts,
    products: Vec<GlobSet>,
    fixed: Vec<GlobSet>,
    /// The paths named by the check.
    named: BTreeSet<PathBuf>,
    /// The paths hidden from it.
    hidden: &'a [PathBuf],
}

impl<'a> CheckRules<'a> {
    fn new(view: &'a WorkspaceView, check: &Check, products: &[String]) -> Self {
        // A file that the check names was not read for the approval if it did not exist then.
        let named = if view.is_bound { BTreeSet::new() } else { named::paths(check) };
        Self {
            declared: &view.declared,
            products: globs(products.iter().map(String::as_str)),
            fixed: globs(check.fixed.iter().map(String::as_str)),
            named,
            hidden: &[],
        }
    }
}

impl CheckRules<'_> {
    fn is_fixed(&self, path: &Path) -> bool {
        self.fixed.iter().any(|glob| glob.is_match(path))
    }

    fn is_declared(&self, path: &Path) -> bool {
        let mut products = self.products.iter();
        products.any(|glob| glob.is_match(path)) || self.declared.has(path)
    }

    fn is_hidden(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| path.starts_with(hidden))
    }
}

impl DifferenceRules for CheckRules<'_> {
    fn may_change(&self, path: &Path) -> bool {
        self.is_hidden(path) || !self.is_fixed(path) && self.is_declared(path)
    }

    fn is_named(&self, path: &Path) -> bool {
        self.named.contains(path)
    }

    fn may_appear(&self, path: &Path, named: bool) -> bool {
        self.is_hidden(path) || !self.is_fixed(path) && (named || self.is_declared(path))
    }
}

/// The permitted differences for a step of a run approved in advance: paths that no approval
/// covers, and no others that the step names, since they were not read for the approval.
struct PreapprovedStepRules<'a>(&'a DeclaredProducts);

impl DifferenceRules for PreapprovedStepRules<'_> {
    fn may_change(&self, path: &Path) -> bool {
        !tree::is_bound(path, self.0)
    }

    fn is_named(&self, _: &Path) -> bool {
        false
    }

    fn may_appear(&self, path: &Path, _: bool) -> bool {
        !tree::is_bound(path, self.0)
    }
}

/// The permitted differences for an unconfined check.
struct UnconfinedCheckRules<'a>(&'a CheckRules<'a>);

impl DifferenceRules for UnconfinedCheckRules<'_> {
    fn may_change(&self, path: &Path) -> bool {
        let is_own = self.0.named.contains(path) || self.0.is_fixed(path);
        !is_own || self.0.may_change(path)
    }

    fn is_named(&self, _: &Path) -> bool {
        true
    }

    fn may_appear(&self, _: &Path, _: bool) -> bool {
        true
    }
}

/// Lists the first of some paths for a verdict.
pub(crate) fn first_paths(paths: &[PathBuf]) -> Vec<String> {
    let first = paths.iter().take(HIDDEN_LIMIT);
    first.map(|path| path.display().to_string()).collect()
}

/// Lists the first of some paths and the number of others.
fn paths_summary(paths: &[PathBuf]) -> String {
    let first = paths.iter().take(MAX_NAMED_PATHS);
    let shown: Vec<String> = first.map(|path| path.display().to_string()).collect();
    match paths.len().saturating_sub(MAX_NAMED_PATHS) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
