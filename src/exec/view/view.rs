use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::GlobSet;

use crate::digest::Digest;
use crate::exec::Unable;
use crate::exec::files::globs;
use crate::exec::manifest::{Difference, Excluded, Manifest, Rules};
use crate::machine::{Baseline, HIDDEN_LIMIT, Pin};
use crate::model::{Check, Gate, Object, Plan, Provider};

use super::declared::{Declared, family};
use super::{named, tree};

/// The most paths that a message names.
const NAMED: usize = 3;

/// How a file that is changed can be judged.
const REMEDY: &str = "name it in `writes` (with `allow`: in `allow.write`) or in `artifacts` of the step that makes it";

/// How a step may begin that is kept from it by what nobody approved.
const REMEDY_OF_NEW: &str = "remove it, have it approved (in a git repository: add it first), name it in `writes` (with `allow`: in `allow.write`) of the step that makes it, or confine this step with `allow`, so that it does not see it";

/// How a step may go on whose workspace is not what was approved.
const REMEDY_OF_APPROVED: &str = "put it back, or approve the plan again; what a step makes it names in `writes` (with `allow`: in `allow.write`) or in `artifacts`";

/// What checks of a run may see of its workspace.
#[derive(Clone, Debug)]
pub struct View {
    root: PathBuf,
    excluded: Excluded,
    /// The workspace when the run began, or why that is not known.
    start: Result<Arc<Manifest>, String>,
    declared: Declared,
    /// Whether checks see the workspace as it is.
    pub(super) is_open: bool,
    /// Whether steps, too, begin only in the workspace that was approved.
    is_bound: bool,
}

/// The workspace just before a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    manifest: Manifest,
    /// What is new and not declared, relative to the workspace: a folder stands for all that is in it.
    pub hidden: Vec<PathBuf>,
}

impl View {
    /// Whether something of a plan, or of a plan that it uses, is judged by a program.
    pub fn is_needed(plan: &Arc<Plan>) -> bool {
        family(plan).into_iter().any(|plan| {
            let mut steps = plan.steps().iter();
            let parts = plan.parts();
            let is_script = |gate: &Gate| matches!(gate.provider, Provider::Script(_));
            !parts.verify.is_empty()
                || parts.planner.is_some()
                || parts.gates.iter().any(|gate| is_script(gate))
                || steps.any(|step| {
                    !step.verify.is_empty() || step.gates.iter().any(|gate| is_script(gate))
                })
        })
    }

    /// The view of a run that begins now. What lies in `apart`, the state and the keys, is no part of the workspace.
    pub fn take((root, apart): (&Path, &[PathBuf]), plan: &Arc<Plan>, params: &Object) -> Self {
        let excluded = Excluded::new(apart.iter().map(PathBuf::as_path));
        let start = Manifest::of(root, &excluded).map_err(|unable| unable.why);
        Self::new((root, excluded), plan, params, start)
    }

    /// The view of a run that began before. `record` is what was recorded then.
    pub fn recorded(
        (root, apart): (&Path, &[PathBuf]),
        plan: &Arc<Plan>,
        params: &Object,
        record: Result<Vec<u8>, String>,
    ) -> Self {
        let start = record.and_then(|bytes| {
            Manifest::from_bytes(&bytes).map_err(|malformed| malformed.to_string())
        });
        let excluded = Excluded::new(apart.iter().map(PathBuf::as_path));
        Self::new((root, excluded), plan, params, start)
    }

    fn new(
        (root, excluded): (&Path, Excluded),
        plan: &Arc<Plan>,
        params: &Object,
        start: Result<Manifest, String>,
    ) -> Self {
        Self {
            root: root.to_path_buf(),
            excluded,
            start: start.map(Arc::new),
            declared: Declared::new(plan, params),
            is_open: false,
            is_bound: false,
        }
    }

    /// The view of a run of what was approved in advance: of these files, and of what else was approved as
    /// made. What is not among them was not there when the run began, as far as anybody sees.
    #[must_use]
    pub fn bound(mut self, files: &[Pin], products: &[String]) -> Self {
        self = self.of_approved(products);
        self.start = self.start.and_then(|start| {
            let bound = tree::bound(&self.root, &start, &self.declared, files);
            bound.map(Arc::new).map_err(|unable| unable.why)
        });
        self
    }

    /// The view of a run of what was approved in advance, whose files were compared when it began.
    #[must_use]
    pub fn of_approved(mut self, products: &[String]) -> Self {
        self.declared = self.declared.and(products);
        self.is_bound = true;
        self
    }

    /// Whether the workspace is looked at when a step begins.
    pub fn is_bound(&self) -> bool {
        self.is_bound
    }

    /// What a step does not see that begins now: in a run of what was approved in advance, what was not and is not
    /// declared. Fails if something is not as it was approved.
    pub fn admit(&self) -> Result<Vec<PathBuf>, Unable> {
        self.approved("changed since it was approved")
    }

    /// The same for a step from which nothing can be hidden: fails if something would be.
    pub fn admit_unconfined(&self) -> Result<(), Unable> {
        let new = self.admit()?;
        if new.is_empty() {
            return Ok(());
        }
        let why = format!(
            "not approved, not declared: {}; {REMEDY_OF_NEW}",
            shown(&new)
        );
        Err(Unable::logical(why))
    }

    /// Fails if something that was approved was changed while a step ran.
    pub fn confirm(&self) -> Result<(), Unable> {
        self.approved("changed while the step ran").map(drop)
    }

    /// What is new and not declared. Fails if something is not what was approved.
    fn approved(&self, said: &str) -> Result<Vec<PathBuf>, Unable> {
        if !self.is_bound {
            return Ok(Vec::new());
        }
        let now = Manifest::of(&self.root, &self.excluded)?;
        let difference = Difference::between(self.start()?, &now, &Made(&self.declared));
        if difference.changed.is_empty() {
            return Ok(difference.new);
        }
        let paths = shown(&difference.changed);
        let why = format!("{said}, not declared: {paths}; {REMEDY_OF_APPROVED}");
        Err(Unable::logical(why))
    }

    fn start(&self) -> Result<&Manifest, Unable> {
        let start = self.start.as_deref();
        start.map_err(|why| {
            let why = format!("the workspace as it was when the run began is not known: {why}");
            Unable::environmental(why)
        })
    }

    /// The view of a plan that is used.
    #[must_use]
    pub fn within(&self, plan: &Arc<Plan>, params: &Object) -> Self {
        Self {
            declared: self.declared.with(plan, params),
            ..self.clone()
        }
    }

    /// The view of whoever asks again after the run: the workspace is seen as it is, as without a sandbox.
    #[must_use]
    pub fn open(self) -> Self {
        Self {
            is_open: true,
            ..self
        }
    }

    /// The record of the workspace as it was when the run began, and its digest. Where that is not
    /// known, the record is no manifest: then nobody takes it for one later.
    pub fn record(&self) -> (Vec<u8>, Baseline) {
        let start = self.start.as_ref();
        let bytes = start.map(|start| start.to_bytes()).unwrap_or_default();
        let baseline = Baseline {
            manifest: Digest::of(&bytes),
            entries: start.map(|start| start.count()).unwrap_or_default(),
        };
        (bytes, baseline)
    }

    /// Looks at the workspace for a check. `products` are globs of what the work that is checked
    /// left. Fails if something was changed that nothing declares.
    pub fn look(&self, check: &Check, products: &[String]) -> Result<Sight, Unable> {
        let now = Manifest::of(&self.root, &self.excluded)?;
        let scope = Scope::new(self, check, products);
        let hidden = self.unchanged(&now, &scope)?;
        Ok(Sight {
            manifest: now,
            hidden,
        })
    }

    /// Looks at the workspace for a check that no sandbox confines: nothing can be hidden from it, and it
    /// may write itself. Fails if a file was changed, and nothing declares it, that the check names
    /// or lists in `fixed`; in a run that was approved in advance, if anything is not as it was approved.
    pub fn look_unconfined(&self, check: &Check, products: &[String]) -> Result<(), Unable> {
        self.admit_unconfined()?;
        let scope = Scope::new(self, check, products);
        let own = Own(&scope);
        self.unchanged(&Manifest::of(&self.root, &self.excluded)?, &own)?;
        Ok(())
    }

    /// What is new. Fails if something was changed that may not be.
    fn unchanged(&self, now: &Manifest, rules: &dyn Rules) -> Result<Vec<PathBuf>, Unable> {
        let difference = Difference::between(self.start()?, now, rules);
        if difference.changed.is_empty() {
            return Ok(difference.new);
        }
        let paths = shown(&difference.changed);
        let why = format!("changed, not declared: {paths}; {REMEDY}");
        Err(Unable::logical(why))
    }

    /// Looks once more, after a check. Fails if something that it may have read is not as it was
    /// before, or came to be.
    pub fn recheck(
        &self,
        before: &Sight,
        check: &Check,
        products: &[String],
    ) -> Result<(), Unable> {
        let after = Manifest::of(&self.root, &self.excluded)?;
        let scope = Scope {
            hidden: &before.hidden,
            ..Scope::new(self, check, products)
        };
        let meanwhile = |verb: &str, found: &[PathBuf]| {
            let paths = shown(found);
            let why = format!("{verb} while it was checked, not declared: {paths}; {REMEDY}");
            Err(Unable::environmental(why))
        };
        let moved = Difference::moved(&before.manifest, &after);
        if let Some(folder) = moved.filter(|folder| !scope.may_change(folder)) {
            return meanwhile("changed", &[folder]);
        }
        let difference = Difference::between(&before.manifest, &after, &scope);
        match (difference.changed.as_slice(), difference.new.as_slice()) {
            ([], []) => Ok(()),
            ([], new) => meanwhile("made", new),
            (changed, _) => meanwhile("changed", changed),
        }
    }
}

/// What may differ for one check.
struct Scope<'a> {
    declared: &'a Declared,
    products: Vec<GlobSet>,
    fixed: Vec<GlobSet>,
    /// The paths that the check names.
    named: BTreeSet<PathBuf>,
    /// What it does not see.
    hidden: &'a [PathBuf],
}

impl<'a> Scope<'a> {
    fn new(view: &'a View, check: &Check, products: &[String]) -> Self {
        // What a check names was not read when it was approved, if it was not there.
        let named = if view.is_bound {
            BTreeSet::new()
        } else {
            named::paths(check)
        };
        Self {
            declared: &view.declared,
            products: globs(products.iter().map(String::as_str)),
            fixed: globs(check.fixed.iter().map(String::as_str)),
            named,
            hidden: &[],
        }
    }
}

impl Scope<'_> {
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

impl Rules for Scope<'_> {
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

/// What may differ for a step of a run that was approved in advance: what no approval binds, and nothing
/// more that the step names. That was not read when it was approved.
struct Made<'a>(&'a Declared);

impl Rules for Made<'_> {
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

/// What may differ for a check that no sandbox confines.
struct Own<'a>(&'a Scope<'a>);

impl Rules for Own<'_> {
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

/// The first of some paths, for a verdict.
pub(in crate::exec) fn listed(paths: &[PathBuf]) -> Vec<String> {
    let first = paths.iter().take(HIDDEN_LIMIT);
    first.map(|path| path.display().to_string()).collect()
}

/// The first of some paths, and how many more there are.
fn shown(paths: &[PathBuf]) -> String {
    let first = paths.iter().take(NAMED);
    let shown: Vec<String> = first.map(|path| path.display().to_string()).collect();
    match paths.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
