//! The products declared by a plan: artifacts, cached outputs and writes, of its steps and of all plans it uses.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use globset::GlobSet;

use wf_model::{Check, JsonObject, Plan, Step, UNMEANT_PATHS, claimed_path};

use super::{
    caches::{is_cache, is_unnamed_cache},
    data::DataFiles,
    ignored::IgnoreRules,
};
use crate::{disk::files, processes::environment};

/// The declared products of the steps of a plan and of all plans it uses.
///
/// A step may write more than it makes: `allow.write` is permission, and says what is a product only where the step has no
/// `writes`; then a granted folder stands for what is in it, except what git ignores, and a grant of the whole workspace for
/// nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeclaredProducts {
    globs: Vec<ProductGlob>,
    /// The paths declared literally.
    exact: BTreeSet<PathBuf>,
    /// The granted products.
    grants: Vec<PathBuf>,
    /// Additional approved products, which never include a repository.
    approved: Vec<GlobSet>,
    /// The files that are data: no products, but no approval binds their content.
    data: DataFiles,
    ignored: Arc<IgnoreRules>,
}

/// A glob, with its text.
#[derive(Clone, Debug)]
struct ProductGlob {
    text: String,
    set: GlobSet,
}

impl DeclaredProducts {
    /// Collects the declarations with the plan's own parameters; those of used plans are not known yet.
    pub(crate) fn new(plan: &Arc<Plan>, params: &JsonObject) -> Self {
        let (globs, grants) = declarations(plan, params);
        Self { data: DataFiles::of_plan(plan), ..Self::of(globs, grants) }
    }

    fn of(globs: Vec<String>, grants: Vec<PathBuf>) -> Self {
        let literal = globs.iter().filter_map(|glob| claimed_path(glob));
        let exact = literal.map(PathBuf::from).chain(grants.iter().cloned()).collect();
        let globs = globs.into_iter().filter_map(|text| {
            let set = files::globs(std::iter::once(text.as_str())).pop()?;
            Some(ProductGlob { text, set })
        });
        Self { globs: globs.collect(), exact, grants, ..Self::default() }
    }

    /// Collects the declarations of one step, as far as they are known before a run.
    pub(super) fn of_step(step: &Step) -> Self {
        Self::of(products_of(step, None).collect(), granted_products(step).collect())
    }

    /// True if a pattern or a folder stands for files: not every declaration names one file.
    pub(super) fn has_patterns(&self) -> bool {
        let literal = self.globs.iter().all(|glob| claimed_path(&glob.text).is_some());
        !literal || !self.grants.is_empty()
    }

    /// Returns the granted folders and files.
    pub(crate) fn grants(&self) -> &[PathBuf] {
        &self.grants
    }

    /// Returns the ignored files of the beginning of the run.
    pub(crate) fn ignored(&self) -> &IgnoreRules {
        &self.ignored
    }

    /// Adds approved products, given as globs.
    pub(crate) fn and(mut self, products: &[String]) -> Self {
        let products = products.iter().map(String::as_str);
        self.approved.extend(files::globs(products));
        self
    }

    /// Adds the declarations of a used plan, now that its parameters are known.
    pub(crate) fn with(&self, plan: &Arc<Plan>, params: &JsonObject) -> Self {
        let mut declared = Self::new(plan, params);
        declared.globs.extend(self.globs.iter().cloned());
        declared.exact.extend(self.exact.iter().cloned());
        declared.grants.extend(self.grants.iter().cloned());
        declared.approved.extend(self.approved.iter().cloned());
        declared.data.extend(&self.data);
        declared.ignored = Arc::clone(&self.ignored);
        declared
    }

    /// Adds the files ignored by git.
    pub(crate) fn without_ignored(self, ignored: IgnoreRules) -> Self {
        Self { ignored: Arc::new(ignored), ..self }
    }

    /// Tells programs among the data, which an approval binds all the same, by the workspace they lie in.
    pub(crate) fn in_workspace(self, root: &Path) -> Self {
        Self { data: self.data.in_workspace(root), ..self }
    }

    pub(crate) fn is_data(&self, path: &Path) -> bool {
        self.data.has(path)
    }

    pub(crate) fn has(&self, path: &Path) -> bool {
        let is_of_git = path.iter().any(|part| part == ".git");
        let named = |glob: &ProductGlob| glob.set.is_match(path) && !is_unnamed_cache(path, &glob.text);
        self.globs.iter().any(named)
            || self.grants.iter().any(|grant| self.is_granted(grant, path))
            || !is_of_git
                && !self.grants.iter().any(|grant| path.starts_with(grant))
                && self.approved.iter().any(|glob| glob.is_match(path))
    }

    /// True if a path is declared literally: no pattern and no folder stands for it.
    pub(crate) fn names(&self, path: &Path) -> bool {
        self.exact.contains(path)
    }

    /// True if the declarations cover the whole workspace: any name no one could mean.
    pub(crate) fn has_everything(&self) -> bool {
        self.globs.iter().any(|glob| covers_everything(&glob.set))
    }

    /// True if a granted file or folder makes a path a product. Excludes the repository in a folder: no sandbox makes
    /// it writable so.
    fn is_granted(&self, grant: &Path, path: &Path) -> bool {
        let repository = |path: &Path| path.iter().any(|part| part == ".git");
        let Ok(below) = path.strip_prefix(grant) else {
            return false;
        };
        repository(path) == repository(grant)
            && !is_cache(below)
            && (!self.ignored.has(path, false) || self.ignored.has(grant, true))
    }
}

fn covers_everything(set: &GlobSet) -> bool {
    UNMEANT_PATHS.iter().any(|path| set.is_match(path))
}

/// True if a glob covers the whole workspace.
pub fn is_everything(glob: &str) -> bool {
    files::globs(std::iter::once(glob)).iter().any(covers_everything)
}

/// Returns the declared products of the steps of a plan and of all plans it uses, as globs.
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

/// Returns the globs of the declared products, sorted, and the granted files and folders that are products, of the
/// steps of a plan and of all plans it uses.
fn declarations(plan: &Arc<Plan>, params: &JsonObject) -> (Vec<String>, Vec<PathBuf>) {
    let (mut globs, mut grants) = (Vec::new(), Vec::new());
    for (at, plan) in family(plan).into_iter().enumerate() {
        let params = (at == 0).then_some(params);
        for step in plan.steps() {
            globs.extend(products_of(step, params));
            grants.extend(granted_products(step));
        }
    }
    globs.sort_unstable();
    globs.dedup();
    (globs, grants)
}

/// Returns a test for the paths a step, or a plan it uses, declares to make or change.
pub fn declared_by(step: &Step, params: &JsonObject) -> impl Fn(&Path) -> bool + use<> {
    let used = step.work.plans_used().into_iter();
    let of_plans: Vec<_> = used.map(|plan| DeclaredProducts::new(plan, &JsonObject::new())).collect();
    let own =
        DeclaredProducts::of(products_of(step, Some(params)).collect(), granted_products(step).collect());
    move |path| own.has(path) || of_plans.iter().any(|plan| plan.has(path))
}

/// Returns the glob matching exactly this path.
pub fn exactly(path: &Path) -> String {
    globset::escape(&path.display().to_string())
}

/// Returns a plan and all plans it uses, each once.
pub fn family(plan: &Arc<Plan>) -> Vec<&Arc<Plan>> {
    let mut plans = vec![plan];
    let mut at = 0;
    while let Some(plan) = plans.get(at).copied() {
        for used in plan.plans_used() {
            if !plans.iter().any(|other_plan| Arc::ptr_eq(other_plan, used)) {
                plans.push(used);
            }
        }
        at += 1;
    }
    plans
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
    let globs = cached.chain(&step.artifacts).chain(&step.writes);
    globs.flat_map(move |glob| environment::globs_so_far(step, glob, params))
}

/// True if a step may write the whole workspace, and declares nothing as its product.
pub(super) fn declares_nothing(step: &Step) -> bool {
    let is_whole =
        |path: &String| Path::new(path).components().all(|part| part == std::path::Component::CurDir);
    let mut grants = step.ways().flat_map(Step::permissions).flat_map(|allow| &allow.write);
    let declares = products_of(step, None).next().is_some();
    !declares && grants.any(is_whole)
}

/// Returns the paths a step may write in its sandbox, for all its alternatives, if these say what it makes: not the
/// whole workspace, and nothing beside `writes`.
fn granted_products(step: &Step) -> impl Iterator<Item = PathBuf> {
    let allowed = step.ways().filter(|step| step.writes.is_empty()).flat_map(Step::permissions);
    let written = allowed.flat_map(|allow| &allow.write);
    let paths = written.map(|path| {
        let parts = Path::new(path).components();
        parts.filter(|part| *part != std::path::Component::CurDir).collect::<PathBuf>()
    });
    paths.filter(|path| path.parent().is_some())
}
