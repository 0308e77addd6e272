use std::collections::BTreeMap;
use std::sync::Arc;

use globset::GlobSet;

use super::Site;
use super::look::{Found, Why, look};
use crate::digest::Digest;
use crate::exec::gate::as_check;
use crate::exec::planner;
use crate::exec::{Unable, environment, files};
use crate::machine::FixedFile;
use crate::model::{Check, Gate, Plan, Work};

/// The files that the checks of a run rely on, as they were when it began.
#[derive(Clone, Debug, Default)]
pub struct Fixed {
    files: BTreeMap<String, Option<Digest>>,
    products: Vec<GlobSet>,
}

/// What a check relies on, at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glimpse(pub(super) BTreeMap<String, Found>);

impl Fixed {
    /// Notes what the checks of a plan, and of all plans that it uses, rely on now.
    pub fn take(plan: &Arc<Plan>, site: Site<'_>) -> Self {
        let mut fixed = Self::recorded(plan, &[]);
        for (at, plan) in family(plan).into_iter().enumerate() {
            // What others are given is known only when they begin.
            let params = site.params.filter(|_| at == 0);
            let site = Site { params, ..site };
            let gates: Vec<Check> = gates(plan).filter_map(as_check).collect();
            let planner = plan.parts().planner.as_ref().map(planner::as_check);
            for check in checks(plan).chain(&gates).chain(&planner) {
                // What cannot be looked at now cannot be then, and is said then.
                let Ok(glimpse) = fixed.glimpse(check, site) else {
                    continue;
                };
                let noted = glimpse.0.into_iter().filter(|(_, found)| match found.why {
                    Why::Script => true,
                    Why::Binary => false,
                    Why::Read | Why::Beside(_) | Why::Listed => found.mark.digest.is_some(),
                });
                fixed
                    .files
                    .extend(noted.map(|(path, found)| (path, found.mark.digest)));
            }
        }
        fixed
    }

    /// What was noted when a run of a plan began.
    pub fn recorded(plan: &Arc<Plan>, files: &[FixedFile]) -> Self {
        let files = files
            .iter()
            .map(|file| (file.path.clone(), file.digest))
            .collect();
        let plans = family(plan);
        let products = plans.iter().flat_map(|plan| products(plan)).collect();
        Self { files, products }
    }

    /// For the record.
    pub fn files(&self) -> Vec<FixedFile> {
        let files = self.files.iter().map(|(path, digest)| FixedFile {
            path: path.clone(),
            digest: *digest,
        });
        files.collect()
    }

    /// What a check relies on now, but for what steps are to make.
    pub fn glimpse(&self, check: &Check, site: Site<'_>) -> Result<Glimpse, Unable> {
        look(check, site, &|path| self.is_product(path)).map(Glimpse)
    }

    /// How it is told which file is not what it was when the run began: one of the workspace, if
    /// there is one.
    pub fn alteration(&self, check: &Check, glimpse: &Glimpse) -> Option<String> {
        let path = self.altered(check, glimpse)?;
        Some(match self.before(&path) {
            Some(_) => path,
            None => format!("{path}, which was not there when the run began"),
        })
    }

    /// The file that is not what it was.
    pub(super) fn altered(&self, check: &Check, glimpse: &Glimpse) -> Option<String> {
        let differs = |path: &str, found: &Found| {
            let (before, now) = (self.before(path), found.mark.digest);
            match &found.why {
                Why::Binary => before.is_some() && before != now,
                Why::Beside(own) => self.before(own).is_some() && before != now,
                Why::Script | Why::Read | Why::Listed => before != now,
            }
        };
        let changed = glimpse
            .0
            .iter()
            .filter(|(path, found)| differs(path, found));
        let changed = changed.map(|(path, _)| path);
        let listed = globs(check.fixed.iter().map(String::as_str));
        let gone = self.files.iter().filter(|(path, digest)| {
            digest.is_some()
                && !glimpse.0.contains_key(*path)
                && listed.iter().any(|glob| glob.is_match(path))
        });
        let all = changed.chain(gone.map(|(path, _)| path));
        all.min_by_key(|path| (path.starts_with('/'), *path))
            .cloned()
    }

    fn before(&self, path: &str) -> Option<Digest> {
        self.files.get(path).copied().flatten()
    }

    fn is_product(&self, path: &str) -> bool {
        !path.starts_with(".git/") && self.products.iter().any(|glob| glob.is_match(path))
    }
}

impl Glimpse {
    /// The first file that was touched between this glimpse and a later one, even if it is as it
    /// was.
    pub fn touched(&self, later: &Self) -> Option<String> {
        let mark = |of: &Self, path: &String| {
            let found = of.0.get(path).filter(|found| found.why != Why::Binary);
            found.map(|found| found.mark.clone()).unwrap_or_default()
        };
        let mut all = self.0.keys().chain(later.0.keys());
        all.find(|path| mark(self, path) != mark(later, path))
            .cloned()
    }
}

/// A plan and all that it uses, each once.
pub(in crate::exec) fn family(plan: &Arc<Plan>) -> Vec<&Arc<Plan>> {
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

/// The gates of a plan and of its steps.
pub(in crate::exec) fn gates(plan: &Plan) -> impl Iterator<Item = &Gate> {
    let own = &plan.parts().gates;
    let steps = plan.steps().iter().flat_map(|step| &step.gates);
    own.iter().chain(steps).map(|gate| &**gate)
}

/// The globs of what the steps of a plan say that they make.
fn products(plan: &Plan) -> Vec<GlobSet> {
    globs(product_globs(plan).iter().map(String::as_str))
}

/// What the steps of a plan say that they make, as they write it.
pub(in crate::exec) fn product_globs(plan: &Plan) -> Vec<String> {
    let steps = plan.steps().iter();
    let globs = steps.flat_map(|step| {
        let cached = step.cache.iter().flat_map(|cache| &cache.outputs);
        let all = cached.chain(&step.artifacts);
        all.flat_map(|glob| environment::globs_so_far(step, glob))
    });
    globs.collect()
}

/// Globs as they mean files of the workspace; those that cannot be read mean none.
pub(in crate::exec) fn globs<'a>(globs: impl Iterator<Item = &'a str>) -> Vec<GlobSet> {
    let plain = globs.filter_map(|glob| files::plain(glob).ok());
    plain.filter_map(|glob| files::compile(glob).ok()).collect()
}
