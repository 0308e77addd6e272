//! The view of a workspace when a run began, its record, and a snapshot of it for a check.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use wf_base::{digest::Sha256Digest, time::Moment};
use wf_core::machine::{Baseline, PinnedFile};
use wf_model::{Check, Gate, GateProvider, JsonObject, Plan, StepWork};

use super::{
    declarations::{
        caches,
        declared::{DeclaredProducts, family},
        ignored::IgnoreRules,
        tree,
        writers::StepWriters,
    },
    kept_files::KeptFiles,
    remedy,
    rules::PreapprovedStepRules,
};
use crate::{
    manifest::{ExcludedFiles, LeftoverRule, ManifestDifference, WorkspaceManifest},
    originals::{Originals, WorkspaceRepository},
    sandbox::{KeptCopy, KeptGitFolder},
    work_error::WorkError,
};

/// The times a workspace is listed in which git works just then.
const MAX_TAKES: usize = 3;

/// The view of a run's checks on its workspace.
#[derive(Clone, Debug)]
pub struct WorkspaceView {
    pub(super) root: PathBuf,
    excluded: ExcludedFiles,
    /// The workspace when the run began, or the reason why it is unknown.
    start: Result<Arc<WorkspaceManifest>, WorkError>,
    pub(super) declared: DeclaredProducts,
    /// The files that checks keep as they were.
    pub(super) kept_files: KeptFiles,
    /// The content of files when the run began.
    pub(super) originals: Originals,
    /// The folder for files as they were, which sandboxes show.
    pub(super) copies: PathBuf,
    /// The files steps could have written.
    pub(super) writers: StepWriters,
    /// True if checks see the workspace as it is.
    pub(super) is_open: bool,
    /// True if steps, too, begin only in the approved workspace.
    pub(super) is_bound: bool,
    /// True if the run has no steps: what changes is changed by others, and its checks see the workspace as it is.
    is_workless: bool,
}

/// The workspace just before a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceSnapshot {
    pub(super) manifest: WorkspaceManifest,
    /// The worktree the check sees in its place, if it sees one.
    pub(super) worktree: Option<WorkspaceManifest>,
    /// The new undeclared files, relative to the workspace: a folder stands for all its content.
    pub hidden: Vec<PathBuf>,
    /// The changed caches, hidden as well.
    pub caches: Vec<PathBuf>,
    /// The products that were changed, removed or created since the run began.
    pub products: Vec<PathBuf>,
    /// The files the check sees as they were when the run began.
    pub copies: Vec<KeptCopy>,
    /// The files of the check a step has changed, since they are declared literally.
    pub given_paths: Vec<PathBuf>,
    /// The files changed beside the run, as it sees them: as they were when the run began.
    pub originals: Vec<KeptCopy>,
    /// The paths of those that are no part of a repository.
    pub restored: Vec<PathBuf>,
    /// The files changed beside the run, and that it sees as they are: nobody has their earlier content.
    pub foreign: Vec<PathBuf>,
    /// The folders of git outside of the workspace, as it sees them: as they were when the run began.
    pub git_folders: Vec<KeptGitFolder>,
}

/// The products among the files of a check.
#[derive(Clone, Debug, Default)]
pub(super) struct CheckFiles {
    /// The files it sees as they were, since only a pattern or a folder covers them.
    pub(super) own: BTreeSet<PathBuf>,
    /// The files without a copy: they may not have changed.
    pub(super) unchanged: BTreeSet<PathBuf>,
    /// The tracked files declared literally.
    pub(super) given_paths: BTreeSet<PathBuf>,
}

impl WorkspaceView {
    /// True if a program judges any part of a plan or of a plan it uses.
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

    /// Takes the view of a run beginning now. The state and the keys (`apart`) are left out.
    pub fn take(root: &Path, apart: &[PathBuf], plan: &Arc<Plan>, params: &JsonObject) -> Self {
        let excluded = ExcludedFiles::new(apart.iter().map(PathBuf::as_path));
        let start = WorkspaceManifest::of_workspace(root, &excluded);
        let mut view = Self::new(root, excluded, plan, params, start);
        if let Ok(start) = &view.start
            && !view.declared.grants().is_empty()
        {
            let ignored = IgnoreRules::read_rules(root, start, view.declared.grants());
            view.declared = view.declared.without_ignored(ignored);
        }
        view
    }

    /// Restores the view of a run that began earlier. `record` is its record.
    pub fn recorded(
        root: &Path,
        apart: &[PathBuf],
        plan: &Arc<Plan>,
        params: &JsonObject,
        record: Result<Vec<u8>, WorkError>,
    ) -> Self {
        let parts = record.and_then(|bytes| {
            let parts = WorkspaceRecord::from_bytes(&bytes);
            parts.ok_or_else(|| WorkError::environmental("its record is not a workspace manifest"))
        });
        let excluded = ExcludedFiles::new(apart.iter().map(PathBuf::as_path));
        let (start, ignored, originals) = match parts {
            Ok(record) => (Ok(record.start_manifest), record.ignored, record.originals),
            Err(unable) => (Err(unable), IgnoreRules::default(), Originals::default()),
        };
        let mut view = Self::new(root, excluded, plan, params, start);
        view.declared = view.declared.without_ignored(ignored);
        view.originals = originals;
        view
    }

    /// Keeps the content of files, and the answers of git, now the run begins. `copies` is the folder for those shown
    /// later.
    #[must_use]
    pub fn with_originals(
        mut self,
        repository: Option<&Arc<dyn WorkspaceRepository>>,
        copies: PathBuf,
    ) -> Self {
        self.copies = copies;
        for _ in 0..MAX_TAKES {
            let Ok(start) = &self.start else { break };
            let ignored = match repository {
                Some(_) => IgnoreRules::read_rules(&self.root, start, &[PathBuf::new()]),
                None => IgnoreRules::default(),
            };
            let is_left_out = |path: &Path, is_folder: bool| {
                ignored.matches(path, is_folder) || self.declared.has(path) || caches::is_cache(path)
            };
            let repository = repository.cloned();
            if let Some(originals) = Originals::collect(&self.root, start, repository, &is_left_out) {
                self.originals = originals;
                break;
            }
            let again = WorkspaceManifest::of_workspace(&self.root, &self.excluded);
            self.start = again.map(Arc::new);
        }
        self
    }

    /// Reads what was recorded of them, in the repository of the workspace. `copies` is the folder for files that are shown.
    #[must_use]
    pub fn with_recorded_originals(
        mut self,
        repository: Option<Arc<dyn WorkspaceRepository>>,
        copies: PathBuf,
    ) -> Self {
        self.originals = self.originals.of_workspace(&self.root, repository);
        self.copies = copies;
        self
    }

    /// Takes what an earlier run left, that no step declares and nobody has changed since, as it was when that run
    /// began: checks count it no more than they did there. `record` is the record of the earlier run. Git's own files
    /// are as they are.
    #[must_use]
    pub fn without_leftovers(mut self, record: &[u8], ended: Moment) -> Self {
        let (Some(record), Ok(start)) = (WorkspaceRecord::from_bytes(record), &mut self.start) else {
            return self;
        };
        let declared = &self.declared;
        let is_product = |path: &Path| declared.has(path) || path.iter().any(|part| part == ".git");
        let rule = LeftoverRule { ended: ended.millis().saturating_mul(1_000_000), is_product: &is_product };
        let left = rule.undo(Arc::make_mut(start), &record.start_manifest);
        // Their copies would be of what the run left.
        self.kept_files = self.kept_files.without(&left);
        self.originals = self.originals.without(&left);
        self
    }

    fn new(
        root: &Path,
        excluded: ExcludedFiles,
        plan: &Arc<Plan>,
        params: &JsonObject,
        start: Result<WorkspaceManifest, WorkError>,
    ) -> Self {
        Self {
            root: root.to_path_buf(),
            excluded,
            start: start.map(Arc::new),
            declared: DeclaredProducts::new(plan, params).in_workspace(root),
            kept_files: KeptFiles::default(),
            originals: Originals::default(),
            copies: PathBuf::new(),
            writers: StepWriters::from_plan(plan),
            is_open: false,
            is_bound: false,
            is_workless: plan.steps().is_empty(),
        }
    }

    /// Restricts the view to a run approved in advance: to these files and the approved products.
    /// All other files count as absent at the start of the run.
    #[must_use]
    pub fn bound(mut self, files: &[PinnedFile], products: &[String]) -> Self {
        self = self.of_approved(products);
        self.start =
            self.start.and_then(|start| tree::bound(&self.root, &start, &self.declared, files).map(Arc::new));
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

    /// Returns the paths hidden from a step beginning now: in a run approved in advance, new undeclared ones. Fails if
    /// an approved file has changed.
    pub fn admit(&self) -> Result<Vec<PathBuf>, WorkError> {
        self.new_undeclared_paths("changed since it was approved")
    }

    /// Does the same for a step from which nothing can be hidden: fails if a path would have to be.
    pub fn admit_unconfined(&self) -> Result<(), WorkError> {
        let new = self.admit()?;
        if new.is_empty() {
            return Ok(());
        }
        let paths = remedy::paths_summary(&new);
        let reason = format!("not approved, not declared: {paths}; {}", remedy::REMEDY_OF_NEW);
        Err(WorkError::logical(reason))
    }

    /// Fails if an approved file changed while a step ran.
    pub fn confirm(&self) -> Result<(), WorkError> {
        self.new_undeclared_paths("changed while the step ran").map(drop)
    }

    /// Returns the new undeclared paths. Fails if an approved file has changed.
    fn new_undeclared_paths(&self, message: &str) -> Result<Vec<PathBuf>, WorkError> {
        if !self.is_bound {
            return Ok(Vec::new());
        }
        let rules = PreapprovedStepRules(&self.declared);
        let difference = ManifestDifference::between(self.start()?, &self.manifest()?, &rules);
        if difference.changed.is_empty() {
            return Ok(difference.new);
        }
        let paths = remedy::paths_summary(&difference.changed);
        let reason = format!("{message}, not declared: {paths}; {}", remedy::REMEDY_OF_APPROVED);
        Err(WorkError::logical(reason))
    }

    pub(super) fn manifest(&self) -> Result<WorkspaceManifest, WorkError> {
        WorkspaceManifest::of_workspace(&self.root, &self.excluded)
    }

    pub(super) fn start(&self) -> Result<&WorkspaceManifest, WorkError> {
        let start = self.start.as_deref();
        start.map_err(|unable| {
            let reason = format!("the state of the workspace at the start of the run is unknown: {unable}");
            WorkError::environmental(reason)
        })
    }

    /// Returns the view of a used plan. `is_known`: it was known when the run began, so the files of its checks were
    /// kept.
    #[must_use]
    pub fn within(&self, plan: &Arc<Plan>, params: &JsonObject, is_known: bool) -> Self {
        let kept =
            if is_known { self.kept_files.clone() } else { self.kept_files.clone().of_unknown_checks() };
        let writers = self.writers.clone().and(plan);
        Self { declared: self.declared.with(plan, params), kept_files: kept, writers, ..self.clone() }
    }

    /// Adds the files that checks keep as they were.
    #[must_use]
    pub fn with_kept(self, kept_files: KeptFiles) -> Self {
        Self { kept_files, ..self }
    }

    /// Adds the files and folders controlling `wf`: no grant of a folder above them covers them.
    #[must_use]
    pub fn with_control(self, control: &[String]) -> Self {
        Self { writers: self.writers.with_control(control), ..self }
    }

    /// True if a pass of a check shows little: the steps may change everything, and the check fixes nothing.
    pub fn shows_little(&self, check: &Check) -> bool {
        check.fixed.is_empty() && self.declared.has_everything()
    }

    /// Returns the products among the files that a check names and that were there when the run began.
    pub(super) fn check_files(&self, named: &BTreeSet<PathBuf>) -> CheckFiles {
        let mut files = CheckFiles::default();
        let Ok(start) = &self.start else {
            return files;
        };
        for path in named.iter().filter(|path| start.has_file(path) && self.declared.has(path)) {
            let list = match (self.declared.names(path), self.kept_files.has(path)) {
                (true, true) => &mut files.given_paths,
                (false, true) => &mut files.own,
                (false, false) if self.kept_files.covers(path) => &mut files.unchanged,
                _ => continue,
            };
            list.insert(path.clone());
        }
        files
    }

    /// True if only others change the workspace, and no approval bound it: their changes are no product.
    pub(super) fn sees_others(&self) -> bool {
        self.is_workless && !self.is_bound
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
        let list = start.map(|start| start.to_bytes()).unwrap_or_default();
        let bytes = WorkspaceRecord::write(list, self.declared.ignored(), &self.originals);
        let baseline = Baseline {
            manifest: Sha256Digest::of_bytes(&bytes),
            entries: start.map(|start| start.count()).unwrap_or_default(),
            kept: self.kept_files.files(),
        };
        (bytes, baseline)
    }
}

/// The mark between the list of files and what git ignored, in a record: no line of the list is like it.
const RULES_MARK: &[u8] = b"\0ignored\0";

/// The mark before the state of repositories.
const ORIGINALS_MARK: &[u8] = b"\0originals\0";

/// A record of a workspace when a run began.
pub(super) struct WorkspaceRecord {
    pub(super) start_manifest: WorkspaceManifest,
    pub(super) ignored: IgnoreRules,
    pub(super) originals: Originals,
}

impl WorkspaceRecord {
    /// Joins its parts; the list of files is that of a manifest. Empty: the state of the workspace is unknown.
    pub(super) fn write(list: Vec<u8>, ignored: &IgnoreRules, originals: &Originals) -> Vec<u8> {
        let mut bytes = list;
        for (mark, part) in [(RULES_MARK, ignored.to_bytes()), (ORIGINALS_MARK, originals.to_bytes())] {
            if !part.is_empty() && !bytes.is_empty() {
                bytes.extend(mark);
                bytes.extend(part);
            }
        }
        bytes
    }

    /// Splits it into the list of files, what git ignored, and the state of repositories.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (rest, originals) = split(bytes, ORIGINALS_MARK);
        let (start, ignored) = split(rest, RULES_MARK);
        Some(Self {
            start_manifest: WorkspaceManifest::from_bytes(start).ok()?,
            ignored: IgnoreRules::from_bytes(ignored)?,
            originals: Originals::recorded(originals),
        })
    }
}

fn split<'a>(bytes: &'a [u8], mark: &[u8]) -> (&'a [u8], &'a [u8]) {
    let at = bytes.windows(mark.len()).position(|part| part == mark);
    at.map_or((bytes, &[][..]), |at| (&bytes[..at], &bytes[at + mark.len()..]))
}
