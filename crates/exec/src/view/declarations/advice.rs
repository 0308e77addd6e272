//! Advice about the products a plan declares, given before a run: their later effects on its checks.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use wf_base::name::Name;
use wf_model::{Check, JsonObject, Plan, Step};

use super::{
    declared::{DeclaredProducts, declares_nothing},
    harness, named,
};
use crate::manifest::{ExcludedFiles, WorkspaceManifest};

/// The most files that one advice names.
const MAX_NAMED: usize = 8;

/// Advice about the products of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProductAdvice {
    /// A step may write the whole workspace, and declares nothing as its product: checks see none of its changes.
    Nothing { step: Name },
    /// The steps may change everything, and a check fixes nothing: its pass is at most `reported`.
    Everything {
        /// The step of the check; `None`: a check of the plan itself.
        step: Option<Name>,
        check: Name,
        /// Files it could fix.
        held_paths: Vec<PathBuf>,
    },
    /// A check names a file a step may change, since it is declared literally.
    CheckInput {
        /// The step of the check; `None`: a check of the plan itself.
        step: Option<Name>,
        check: Name,
        /// The file, relative to the workspace.
        path: PathBuf,
        /// The step that may change it.
        maker: Name,
    },
    /// The products of a step have a file that checks usually rely on.
    Harness {
        step: Name,
        /// The file, relative to the workspace.
        path: PathBuf,
        /// The reason why checks rely on it.
        reason: &'static str,
    },
}

/// Returns advice about the products of a plan in a workspace. `tracked` tells if git tracks a file; `None`: there is no repository.
pub fn product_advice(
    plan: &Arc<Plan>,
    root: &Path,
    apart: &[PathBuf],
    tracked: &dyn Fn(&Path) -> Option<bool>,
) -> Vec<ProductAdvice> {
    let checks: Vec<(Option<&Name>, &Check)> = checks_of(plan).collect();
    if checks.is_empty() {
        return Vec::new();
    }
    let nothing = plan.steps().iter().filter(|step| declares_nothing(step));
    let mut advice: Vec<_> = nothing.map(|step| ProductAdvice::Nothing { step: step.id.clone() }).collect();
    let declared = DeclaredProducts::new(plan, &JsonObject::new());
    let files =
        if declared.has_patterns() { workspace_files(root, apart) } else { literal_files(plan, root) };
    let is_harness = |path: &&PathBuf| harness::reason_of(path).is_some() && tracked(path) != Some(false);
    if declared.has_everything() {
        for (step, check) in checks.iter().filter(|(_, check)| check.fixed.is_empty()) {
            let named = named::paths(check).into_iter().filter(|path| root.join(path).is_file());
            let held: BTreeSet<PathBuf> = named.chain(files.iter().filter(is_harness).cloned()).collect();
            let safe_paths = held.into_iter().take(MAX_NAMED).collect();
            advice.push(ProductAdvice::Everything {
                step: step.cloned(),
                check: check.name.clone(),
                held_paths: safe_paths,
            });
        }
        return advice;
    }
    for (step, check) in &checks {
        let named = named::relied_paths(check).into_iter().filter(|path| root.join(path).is_file());
        for path in named.filter(|path| declared.names(path) && tracked(path) == Some(true)) {
            let maker = plan.steps().iter().find(|step| DeclaredProducts::of_step(step).has(&path));
            let maker = maker.map(|maker| maker.id.clone());
            advice.extend(maker.map(|maker| ProductAdvice::CheckInput {
                step: step.cloned(),
                check: check.name.clone(),
                path,
                maker,
            }));
        }
    }
    // What each check fixes is safe.
    let fixed_products: Vec<DeclaredProducts> =
        checks.iter().map(|(_, check)| DeclaredProducts::default().and(&check.fixed)).collect();
    let is_open = |path: &PathBuf| !fixed_products.iter().all(|fixed| fixed.has(path));
    let files: Vec<PathBuf> = files.into_iter().filter(is_open).collect();
    advice.extend(plan.steps().iter().filter_map(|step| harness_of(step, &files, tracked)));
    advice
}

/// Returns the existing files steps declare by their names.
fn literal_files(plan: &Arc<Plan>, root: &Path) -> Vec<PathBuf> {
    let globs = plan.steps().iter().flat_map(|step| step.writes.iter().chain(&step.artifacts));
    let paths = globs.filter(|glob| glob.refs().is_empty()).map(|glob| PathBuf::from(glob.source()));
    paths.filter(|path| root.join(path).is_file()).collect()
}

/// Returns the first file of a harness the products of a step cover.
fn harness_of(
    step: &Step,
    files: &[PathBuf],
    tracked: &dyn Fn(&Path) -> Option<bool>,
) -> Option<ProductAdvice> {
    let own = DeclaredProducts::of_step(step);
    let covered = |path: &&PathBuf| own.has(path);
    let mut reasons = files.iter().filter(covered).filter_map(|path| Some((path, harness::reason_of(path)?)));
    let first_reason = reasons.find(|(path, _)| tracked(path) != Some(false));
    first_reason.map(|(path, reason)| ProductAdvice::Harness {
        step: step.id.clone(),
        path: path.clone(),
        reason,
    })
}

fn checks_of(plan: &Arc<Plan>) -> impl Iterator<Item = (Option<&Name>, &Check)> {
    let steps = plan.steps().iter();
    let of_steps = steps.flat_map(|step| step.verify.iter().map(|check| (Some(&step.id), check)));
    of_steps.chain(plan.parts().verify.iter().map(|check| (None, check)))
}

/// Returns the files of a workspace, if it can be read.
fn workspace_files(root: &Path, apart: &[PathBuf]) -> Vec<PathBuf> {
    let excluded = ExcludedFiles::new(apart.iter().map(PathBuf::as_path));
    WorkspaceManifest::of_workspace(root, &excluded).map(|manifest| manifest.files()).unwrap_or_default()
}
