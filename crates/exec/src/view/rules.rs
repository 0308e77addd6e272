//! Which differences from the start of the run a check may see.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use globset::GlobSet;

use wf_model::Check;

use super::{
    WorkspaceView,
    declarations::{caches, declared::DeclaredProducts, named, tree},
    view::CheckFiles,
};
use crate::{disk::files::globs, manifest::DifferenceRules, originals::GitPart};

/// The permitted differences for one check.
pub(super) struct CheckRules<'a> {
    declared: &'a DeclaredProducts,
    products: Vec<GlobSet>,
    fixed: Vec<GlobSet>,
    named: BTreeSet<PathBuf>,
    /// The files of the check it sees as they were when the run began.
    pub(super) own: BTreeSet<PathBuf>,
    /// The files of the check a step may change, since they are declared literally.
    pub(super) given_paths: BTreeSet<PathBuf>,
    /// The files of the check that may not have changed, since nothing has their content as it was.
    unchanged: BTreeSet<PathBuf>,
    hidden: &'a [PathBuf],
    /// True if changed caches are hidden.
    hides_caches: bool,
}

impl<'a> CheckRules<'a> {
    /// Creates the rules of a check; `products` are globs of the products of the checked work.
    pub(super) fn new(view: &'a WorkspaceView, check: &Check, products: &[String]) -> Self {
        let named = named::relied_paths(check);
        let CheckFiles { own, unchanged, given_paths: given } = view.check_files(&named);
        Self {
            declared: &view.declared,
            products: globs(products.iter().map(String::as_str)),
            fixed: globs(check.fixed.iter().map(String::as_str)),
            // A file that the check names was not read for the approval if it did not exist then.
            named: if view.is_bound() { BTreeSet::new() } else { named },
            own,
            given_paths: given,
            unchanged,
            hidden: &[],
            hides_caches: true,
        }
    }

    /// Makes them the rules for changes while the check ran; `hidden` are the paths hidden from it.
    pub(super) fn meanwhile(self, hidden: &'a [PathBuf]) -> Self {
        Self { hidden, hides_caches: false, ..self }
    }

    pub(super) fn is_fixed(&self, path: &Path) -> bool {
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
        let is_free = !self.is_fixed(path) && !self.unchanged.contains(path);
        let is_open = self.own.contains(path) || self.is_declared(path) || GitPart::is_working(path);
        self.is_hidden(path) || is_free && is_open
    }

    fn is_cache(&self, path: &Path) -> bool {
        self.hides_caches && !self.is_fixed(path) && caches::is_cache(path)
    }

    fn is_named(&self, path: &Path) -> bool {
        self.named.contains(path)
    }

    fn may_appear(&self, path: &Path, named: bool) -> bool {
        let is_open = named || self.is_declared(path) || GitPart::is_working(path);
        self.is_hidden(path) || !self.is_fixed(path) && is_open
    }
}

/// The permitted differences for a step of a run approved in advance: paths no approval covers, and no others the step
/// names, since they were not read for the approval.
pub(super) struct PreapprovedStepRules<'a>(pub(super) &'a DeclaredProducts);

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

/// The permitted differences for a check of a run without steps, which changes nothing: all but in the files the check
/// names, unless they are data.
pub(super) struct WorklessCheckRules<'a>(pub(super) &'a CheckRules<'a>);

impl DifferenceRules for WorklessCheckRules<'_> {
    fn may_change(&self, path: &Path) -> bool {
        let is_own = self.0.named.contains(path) || self.0.is_fixed(path);
        !is_own || self.0.declared.is_data(path)
    }

    fn is_named(&self, _: &Path) -> bool {
        true
    }

    fn may_appear(&self, _: &Path, _: bool) -> bool {
        true
    }
}

/// The permitted differences for an unconfined check.
pub(super) struct UnconfinedCheckRules<'a>(pub(super) &'a CheckRules<'a>);

impl DifferenceRules for UnconfinedCheckRules<'_> {
    fn may_change(&self, path: &Path) -> bool {
        let is_own = self.0.named.contains(path) || self.0.is_fixed(path);
        !is_own || self.0.may_change(path) && !self.0.own.contains(path)
    }

    fn is_named(&self, _: &Path) -> bool {
        true
    }

    fn may_appear(&self, _: &Path, _: bool) -> bool {
        true
    }
}
