//! The files the steps of a plan declare to make or change, and the literal ones among them: those are evidence of
//! their step until another task declaring them begins.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use wf_base::{name::Name, redact::SecretMask};
use wf_core::machine::{Artifact, StepItem, TaskId};
use wf_exec::{files, view};
use wf_model::{
    JsonObject, Plan, Step, claimed_path,
    expr::{ExprReference, Template},
};

use super::{
    attempt_task::written_step, context::RunContext, result_files::ResultFiles, scope::TemplateValues,
};

/// A test for the paths a step declares.
type PathTest = Box<dyn Fn(&Path) -> bool + Send + Sync>;

/// The files several items of a step name, with these items.
pub(super) type SharedFiles = BTreeMap<String, BTreeSet<u32>>;

/// The products each step of a plan declares, in any of its alternatives.
pub(crate) struct Declarations {
    plan: Arc<Plan>,
    steps: Vec<(Name, Vec<PathTest>)>,
}

impl Declarations {
    /// Collects those of a plan.
    pub(crate) fn from_plan(plan: &Arc<Plan>, params: &JsonObject) -> Self {
        let test = |step_way: &Step| -> PathTest { Box::new(view::declared_by(step_way, params)) };
        let steps = plan.steps().iter();
        let steps = steps.map(|step| (step.id.clone(), step.ways().map(test).collect())).collect();
        Self { plan: Arc::clone(plan), steps }
    }

    pub(super) fn is_of(&self, plan: &Arc<Plan>) -> bool {
        Arc::ptr_eq(&self.plan, plan)
    }

    /// Returns the steps declaring a path.
    fn declaring(&self, path: &str) -> impl Iterator<Item = &Name> {
        let steps = self.steps.iter();
        steps.filter(move |(_, ways)| ways.iter().any(|way| way(Path::new(path)))).map(|(step, _)| step)
    }

    /// Names the other steps releasing the products among the files of a result. Where items of its own step do, all of
    /// them are meant: another run may have other items.
    pub(crate) fn name_releasing(&self, own: &Name, artifacts: &mut [Artifact]) {
        for file in artifacts {
            let Some(tasks) = &mut file.released_by else { continue };
            let by_own = tasks.iter().any(|task| task.step == *own);
            let own_step = by_own.then(|| TaskId::of_step(own));
            *tasks = own_step.into_iter().chain(self.others(own, &file.path)).collect();
        }
    }

    /// Returns the other steps declaring a path.
    fn others<'a>(&'a self, own: &'a Name, path: &'a str) -> impl Iterator<Item = TaskId> + 'a {
        self.declaring(path).filter(move |step| *step != own).map(TaskId::of_step)
    }
}

/// Returns the products its steps declare.
pub(crate) fn current_declarations(run: &RunContext) -> Arc<Declarations> {
    let plan = run.current_plan();
    let mut files = run.files();
    let declarations_of_plan = files.declarations.take().filter(|known| known.is_of(&plan));
    let declarations_of_plan =
        declarations_of_plan.unwrap_or_else(|| Arc::new(Declarations::from_plan(&plan, run.params())));
    files.declarations = Some(Arc::clone(&declarations_of_plan));
    declarations_of_plan
}

/// Returns the files several items of a step name, given how to find them.
pub(super) fn shared_products(
    run: &RunContext,
    step: &Name,
    find: impl FnOnce(&[StepItem]) -> SharedFiles,
) -> Arc<SharedFiles> {
    let mut files = run.files();
    let ResultFiles { items, shared, .. } = &mut *files;
    let entry = shared.entry(step.clone());
    Arc::clone(entry.or_insert_with(|| Arc::new(find(items.get(step).map_or(&[], Vec::as_slice)))))
}

/// Returns the files a step lists in `writes` by their names; a folder or a pattern does not say which.
pub(crate) fn literal_products(step: &Step, values: &TemplateValues<'_>) -> Vec<String> {
    let rendered = step.writes.iter().filter_map(|path| path.render(values).ok());
    let literal = rendered.filter(|path| !path.ends_with('/') && files::plain(path).is_ok());
    literal.filter_map(|path| claimed_path(&path)).collect()
}

/// Names the steps, and the items of its own, that release the products among the files of a task. Those of a plan it
/// uses are known by no name here: all items count as theirs.
pub(crate) fn name_releasing(
    run: &RunContext,
    task_id: &TaskId,
    values: &TemplateValues<'_>,
    artifacts: &mut [Artifact],
) {
    if !artifacts.iter().any(Artifact::is_product) {
        return;
    }
    let declarations = current_declarations(run);
    let step = written_step(run, task_id);
    let uses_plans = step.ways().any(|way| !way.work.plans_used().is_empty());
    for file in artifacts {
        let Some(tasks) = &mut file.released_by else { continue };
        let own = TaskId::of_step(&step.id);
        *tasks = match task_id.item {
            None => Vec::new(),
            Some(_) if uses_plans => {
                let declaring = declarations.declaring(&file.path).filter(|step| **step == own.step);
                declaring.map(TaskId::of_step).collect()
            }
            Some(_) if is_common(step, values, &file.path) => vec![own],
            Some(_) => {
                let shared = shared_products(run, &step.id, |items| shared_files(step, values, items));
                let items = shared.get(&file.path).into_iter().flatten();
                let items = items.map(|item| TaskId { item: Some(*item), ..own.clone() });
                items.filter(|item| item != task_id).collect()
            }
        };
        tasks.extend(declarations.others(&step.id, &file.path));
    }
}

/// Leaves out the products showing a secret in a folder: the content of a file with a short one could be guessed from
/// its digest.
pub(crate) async fn without_secrets(
    mut artifacts: Vec<Artifact>,
    folder: PathBuf,
    mask: SecretMask,
) -> Vec<Artifact> {
    if mask.is_empty() || !artifacts.iter().any(Artifact::is_product) {
        return artifacts;
    }
    let is_safe = move |artifact: &Artifact| {
        !artifact.is_product()
            || files::refuse_secret(&artifact.path, Some(&folder.join(&artifact.path)), &mask).is_ok()
    };
    let look = move || {
        artifacts.retain(is_safe);
        artifacts
    };
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

/// Adds the evidence of a plan a step uses to its own. A file that one of them stores is stored.
pub(crate) fn add_evidence(own_artifacts: &mut Vec<Artifact>, inside: Vec<Artifact>) {
    for file in inside {
        match own_artifacts.iter_mut().find(|own| own.path == file.path) {
            Some(own) if !file.is_product() => own.released_by = None,
            Some(_) => {}
            None => own_artifacts.push(file),
        }
    }
}

/// True if all items of a step declare a file.
fn is_common(step: &Step, values: &TemplateValues<'_>, path: &str) -> bool {
    let common = products(step).filter(|product| !reads_item(product));
    files::matches_any(common.filter_map(|product| files::glob(product, values).ok()), Path::new(path))
}

/// Returns the files several items of a step name, with these items.
fn shared_files(step: &Step, values: &TemplateValues<'_>, items: &[StepItem]) -> SharedFiles {
    let mut named = SharedFiles::new();
    let of_item: Vec<&Template> = products(step).filter(|product| reads_item(product)).collect();
    for (number, item) in (0..).zip(items).filter(|_| !of_item.is_empty()) {
        let values_of_item = TemplateValues { item: Some(item), index: Some(number), ..*values };
        let rendered = of_item.iter().filter_map(|product| product.render(&values_of_item).ok());
        for path in rendered.filter_map(|path| claimed_path(&path)) {
            named.entry(path).or_default().insert(number);
        }
    }
    named.retain(|_, items| items.len() > 1);
    named
}

fn products(step: &Step) -> impl Iterator<Item = &Template> {
    let cached = step.cache.iter().flat_map(|cache| &cache.outputs);
    cached.chain(&step.artifacts).chain(&step.writes)
}

fn reads_item(template: &Template) -> bool {
    template.refs().iter().any(|reference| {
        let name = &reference.name;
        matches!(
            name,
            ExprReference::Item
                | ExprReference::ItemKey
                | ExprReference::ItemIndex
                | ExprReference::Matrix(_)
        )
    })
}
