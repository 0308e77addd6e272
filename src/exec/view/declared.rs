use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::GlobSet;

use crate::exec::{environment, files};
use crate::model::{Check, Object, Plan, Step, Work};

/// What the steps of a plan, and of all plans that it uses, say that they make.
#[derive(Clone, Debug, Default)]
pub(super) struct Declared {
    globs: Vec<GlobSet>,
    /// What they may write in their sandboxes: files, and folders with all that is in them.
    grants: Vec<PathBuf>,
    /// What else was approved as made, of which no repository is part.
    approved: Vec<GlobSet>,
}

impl Declared {
    /// The parameters are those of the plan itself; those of the plans that it uses are not known yet.
    pub(super) fn new(plan: &Arc<Plan>, params: &Object) -> Self {
        let (mut globs, mut grants) = (Vec::new(), Vec::new());
        for (at, plan) in family(plan).into_iter().enumerate() {
            let params = (at == 0).then_some(params);
            for step in plan.steps() {
                globs.extend(made(step, params));
                grants.extend(writes(step));
            }
        }
        globs.sort_unstable();
        globs.dedup();
        Self {
            globs: files::globs(globs.iter().map(String::as_str)),
            grants,
            approved: Vec::new(),
        }
    }

    /// This, and what else was approved as made, as globs.
    pub(super) fn and(mut self, products: &[String]) -> Self {
        let products = products.iter().map(String::as_str);
        self.approved.extend(files::globs(products));
        self
    }

    /// This, and what a plan that is used declares, now that its parameters are known.
    pub(super) fn with(&self, plan: &Arc<Plan>, params: &Object) -> Self {
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

    /// A grant of a folder does not reach the repository in it: no sandbox lets it be written so.
    fn is_granted(&self, path: &Path) -> bool {
        let repository = |path: &Path| path.iter().any(|part| part == ".git");
        let mut grants = self.grants.iter();
        grants.any(|grant| path.starts_with(grant) && repository(path) == repository(grant))
    }
}

/// What the steps of a plan, and of all plans that it uses, say that they make, as globs.
pub fn products(plan: &Arc<Plan>, params: &Object) -> Vec<String> {
    let mut globs = Vec::new();
    for (at, plan) in family(plan).into_iter().enumerate() {
        let params = (at == 0).then_some(params);
        for step in plan.steps() {
            globs.extend(made(step, params));
            for granted in writes(step) {
                globs.push(exactly(&granted.join("*")).replace("[*]", "**"));
                globs.push(exactly(&granted));
            }
        }
    }
    globs.sort_unstable();
    globs.dedup();
    globs
}

/// The glob of a path.
pub fn exactly(path: &Path) -> String {
    globset::escape(&path.display().to_string())
}

/// A plan and all that it uses, each once.
pub fn family(plan: &Arc<Plan>) -> Vec<&Arc<Plan>> {
    let mut all = vec![plan];
    let mut at = 0;
    while let Some(plan) = all.get(at).copied() {
        for step in plan.steps() {
            for way in (0..step.ways()).filter_map(|way| step.way(way)) {
                if let Work::Uses(uses) = &way.work
                    && !all.iter().any(|known| Arc::ptr_eq(known, &uses.plan))
                {
                    all.push(&uses.plan);
                }
            }
        }
        at += 1;
    }
    all
}

/// The criteria of a plan and of its steps.
pub(in crate::exec) fn checks(plan: &Plan) -> impl Iterator<Item = &Check> {
    let own = &plan.parts().verify;
    plan.steps().iter().flat_map(|step| &step.verify).chain(own)
}

/// The globs of what the steps of a plan say that they make, as far as that is known before a run.
pub(in crate::exec) fn product_globs(plan: &Plan) -> Vec<String> {
    let steps = plan.steps().iter();
    steps.flat_map(|step| made(step, None)).collect()
}

fn made(step: &Step, params: Option<&Object>) -> impl Iterator<Item = String> {
    let cached = step.cache.iter().flat_map(|cache| &cache.outputs);
    let all = cached.chain(&step.artifacts).chain(&step.writes);
    all.flat_map(move |glob| environment::globs_so_far(step, glob, params))
}

/// What a step may write in its sandbox, whichever way it is done.
fn writes(step: &Step) -> impl Iterator<Item = PathBuf> {
    let ways = (0..step.ways()).filter_map(|way| step.way(way));
    let allowed = ways.filter_map(|way| way.allow.as_ref());
    let written = allowed.flat_map(|allow| &allow.write);
    written.map(|path| {
        let parts = Path::new(path).components();
        parts
            .filter(|part| *part != std::path::Component::CurDir)
            .collect()
    })
}
