use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::GlobSet;

use crate::{environment, files};
use wf_model::{Check, JsonObject, Plan, Step};

/// The declared products of the steps of a plan and of all plans that it uses.
#[derive(Clone, Debug, Default)]
pub(super) struct DeclaredProducts {
    globs: Vec<GlobSet>,
    /// The grants of their sandboxes: writable files, and folders with all their content.
    grants: Vec<PathBuf>,
    /// Additional approved products, which never include a repository.
    approved: Vec<GlobSet>,
}

impl DeclaredProducts {
    /// Collects the declarations with the plan's own parameters; those of used plans are not known yet.
    pub(super) fn new(plan: &Arc<Plan>, params: &JsonObject) -> Self {
        let (globs, grants) = declarations(plan, params);
        Self { globs: files::globs(globs.iter().map(String::as_str)), grants, approved: Vec::new() }
    }

    /// Adds approved products, given as globs.
    pub(super) fn and(mut self, products: &[String]) -> Self {
        let products = products.iter().map(String::as_str);
        self.approved.extend(files::globs(products));
        self
    }

    /// Adds the declarations of a used plan, now that its parameters are known.
    pub(super) fn with(&self, plan: &Arc<Plan>, params: &JsonObject) -> Self {
        let mut all = Self::new(plan, params);
        all.globs.extend(self.globs.iter().cloned());
        all.grants.extend(self.grants.iter().cloned());
        all.approved.extend(self.approved.iter().cloned());
        all
    }

    pub(super) fn has(&self, path: &Path) -> bool {
        let is_of_git = path.iter().any(|part| part == ".git");
        let mut approved = self.approved.iter();
        self.globs.iter().any(|glob| glob.is_match(path))
            || self.is_granted(path)
            || !is_of_git && approved.any(|glob| glob.is_match(path))
    }

    /// Excludes the repository in a granted folder: no sandbox makes it writable that way.
    fn is_granted(&self, path: &Path) -> bool {
        let repository = |path: &Path| path.iter().any(|part| part == ".git");
        let mut grants = self.grants.iter();
        grants.any(|grant| path.starts_with(grant) && repository(path) == repository(grant))
    }
}

/// Returns the declared products of the steps of a plan and of all plans that it uses, as globs.
pub fn products(plan: &Arc<Plan>, params: &JsonObject) -> Vec<String> {
    let (mut globs, grants) = declarations(plan, params);
    for granted in grants {
        globs.push(exactly(&granted.join("*")).replace("[*]", "**"));
        globs.push(exactly(&granted));
    }
    globs.sort_unstable();
    globs.dedup();
    globs
}

/// Returns the globs of the declared products, sorted, and the grants of the steps of a plan and of
/// all plans that it uses.
fn declarations(plan: &Arc<Plan>, params: &JsonObject) -> (Vec<String>, Vec<PathBuf>) {
    let (mut globs, mut grants) = (Vec::new(), Vec::new());
    for (at, plan) in family(plan).into_iter().enumerate() {
        let params = (at == 0).then_some(params);
        for step in plan.steps() {
            globs.extend(products_of(step, params));
            grants.extend(writes(step));
        }
    }
    globs.sort_unstable();
    globs.dedup();
    (globs, grants)
}

/// Returns a test for the paths that a step, or a plan that it uses, declares to make or change.
pub fn declared_by(step: &Step, params: &JsonObject) -> impl Fn(&Path) -> bool + use<> {
    let used = step.work.plans_used().into_iter();
    let of_plans: Vec<_> = used.map(|plan| DeclaredProducts::new(plan, &JsonObject::new())).collect();
    let globs: Vec<String> = products_of(step, Some(params)).collect();
    let own = DeclaredProducts {
        globs: files::globs(globs.iter().map(String::as_str)),
        grants: writes(step).collect(),
        approved: Vec::new(),
    };
    move |path| own.has(path) || of_plans.iter().any(|plan| plan.has(path))
}

/// Returns the glob that matches exactly this path.
pub fn exactly(path: &Path) -> String {
    globset::escape(&path.display().to_string())
}

/// Returns a plan and all plans that it uses, each once.
pub fn family(plan: &Arc<Plan>) -> Vec<&Arc<Plan>> {
    let mut all = vec![plan];
    let mut at = 0;
    while let Some(plan) = all.get(at).copied() {
        for used in plan.plans_used() {
            if !all.iter().any(|known| Arc::ptr_eq(known, used)) {
                all.push(used);
            }
        }
        at += 1;
    }
    all
}

/// Returns the checks of a plan and of its steps.
pub(crate) fn checks(plan: &Plan) -> impl Iterator<Item = &Check> {
    let own = &plan.parts().verify;
    plan.steps().iter().flat_map(|step| &step.verify).chain(own)
}

/// Returns the globs of a plan's declared products, as far as they are known before a run.
pub(crate) fn product_globs(plan: &Plan) -> Vec<String> {
    let steps = plan.steps().iter();
    steps.flat_map(|step| products_of(step, None)).collect()
}

fn products_of(step: &Step, params: Option<&JsonObject>) -> impl Iterator<Item = String> {
    let cached = step.cache.iter().flat_map(|cache| &cache.outputs);
    let all = cached.chain(&step.artifacts).chain(&step.writes);
    all.flat_map(move |glob| environment::globs_so_far(step, glob, params))
}

/// Returns the paths that a step may write in its sandbox, for all its alternatives.
fn writes(step: &Step) -> impl Iterator<Item = PathBuf> {
    let allowed = step.ways().flat_map(Step::permissions);
    let written = allowed.flat_map(|allow| &allow.write);
    written.map(|path| {
        let parts = Path::new(path).components();
        parts.filter(|part| *part != std::path::Component::CurDir).collect()
    })
}
