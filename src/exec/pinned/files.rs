use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use super::trail::{End, Post, follow};
use crate::digest::Digest;
use crate::exec::files::globs;
use crate::exec::view::{checks, family, named, product_globs};
use crate::exec::{Unable, environment, planner, shell};
use crate::expr::Template;
use crate::model::{Check, Gate, Object, Plan, Probe, Provider, SecretSource, Step, Work};
use crate::name::Name;
use crate::skill;

/// The files of the workspace that a plan, and all plans that it uses, name as they stand, and those of the
/// skills whose scripts they run: by path, relative to the workspace, with the digest of the content,
/// sorted. Of a link, which is listed as well, the content is the path that it leads to.
///
/// Not among them is what steps say that they make, and what is not there.
pub fn files(
    plan: &Arc<Plan>,
    root: &Path,
    params: &Object,
) -> Result<Vec<(String, Digest)>, Unable> {
    let plans = family(plan);
    let products: Vec<String> = plans.iter().flat_map(|plan| product_globs(plan)).collect();
    let products = globs(products.iter().map(String::as_str));
    let is_product = |path: &str| products.iter().any(|glob| glob.is_match(path));
    let mut found = BTreeMap::new();
    for (at, plan) in plans.into_iter().enumerate() {
        // What others are given is known only when they begin.
        let params = (at == 0).then_some(params);
        for text in texts(plan, root, params) {
            for path in named(&text) {
                let Some(path) = path.to_str().filter(|path| !is_product(path)) else {
                    continue;
                };
                // What whoever runs it cannot read, nobody executes for them.
                let posts = match follow(root, path, true) {
                    Err(error) if error.kind() == ErrorKind::PermissionDenied => Vec::new(),
                    followed => read(path, followed)?,
                };
                let posts = posts.into_iter().filter(|(path, _)| !is_product(path));
                found.extend(posts);
            }
        }
    }
    for folder in skills(plan) {
        for path in skill_files(root, &folder)? {
            found.extend(read(&path, follow(root, &path, true))?);
        }
    }
    Ok(found.into_iter().collect())
}

/// The files of the workspace that the words of a command name, like [`files()`].
pub fn named_by(argv: &[String], root: &Path) -> Result<Vec<(String, Digest)>, Unable> {
    let words = argv.iter().map(|word| Template::literal(word)).collect();
    let mut found = BTreeMap::new();
    for path in named(&text(Probe::Exec(words), None)) {
        let Some(path) = path.to_str() else { continue };
        found.extend(read(path, follow(root, path, true))?);
    }
    Ok(found.into_iter().collect())
}

/// What a path leads through and to, with digests; nothing where nothing is.
fn read(
    path: &str,
    followed: io::Result<(Vec<Post>, End)>,
) -> Result<Vec<(String, Digest)>, Unable> {
    let (posts, _) = followed
        .map_err(|error| Unable::environmental(format!("cannot read `{path}`: {error}")))?;
    let posts = posts.into_iter().map(|post| (post.path, post.digest));
    Ok(posts.collect())
}

/// The folders of the skills whose scripts a plan runs, and all plans that it uses.
pub fn skills(plan: &Arc<Plan>) -> BTreeSet<String> {
    let plans = family(plan).into_iter();
    let folders = plans.flat_map(|plan| {
        let steps = plan.steps().iter();
        let ways = steps.flat_map(|step| (0..step.ways()).filter_map(|way| step.way(way)));
        let folder = |step: &Step| match &step.work {
            Work::Skill(call) => Some(call.folder.clone()),
            _ => None,
        };
        ways.filter_map(folder).collect::<Vec<_>>()
    });
    folders.collect()
}

/// Every file of a skill's folder, relative to the workspace.
pub(super) fn skill_files(root: &Path, folder: &str) -> Result<Vec<String>, Unable> {
    let bundle = skill::disk::read(&root.join(folder))
        .map_err(|bad| Unable::logical(format!("{bad}; {}", bad.remedy())))?;
    let paths = bundle.files.into_keys();
    Ok(paths.map(|path| format!("{folder}/{path}")).collect())
}

/// The texts of all that a plan executes, each as a check that would execute it, with the values that are known
/// before it runs.
fn texts(plan: &Plan, root: &Path, params: Option<&Object>) -> Vec<Check> {
    let steps = plan.steps().iter();
    let ways = steps.flat_map(|step| (0..step.ways()).filter_map(|way| step.way(way)));
    let mut all: Vec<Check> = ways.flat_map(|step| of_step(step, root, params)).collect();
    all.extend(checks(plan).cloned());
    all.extend(plan.parts().planner.as_ref().map(planner::as_check));
    let gates = plan.steps().iter().flat_map(|step| &step.gates);
    all.extend(
        gates
            .chain(&plan.parts().gates)
            .filter_map(|gate| of_gate(gate)),
    );
    let secrets = plan.parts().secrets.iter();
    all.extend(secrets.filter_map(|secret| match &secret.source {
        SecretSource::Command(argv) => {
            let words = argv.iter().map(|word| Template::literal(word));
            Some(text(Probe::Exec(words.collect()), None))
        }
        _ => None,
    }));
    for check in &mut all {
        if let Some(Probe::Exec(words)) = &mut check.probe {
            let known = environment::ParamsAlone(params);
            let known = words.iter().filter_map(|word| word.render(&known).ok());
            *words = known.map(|word| Template::literal(&word)).collect();
        }
    }
    all
}

fn text(probe: Probe, cwd: Option<&str>) -> Check {
    Check {
        probe: Some(probe),
        cwd: cwd.map(str::to_owned),
        ..Check::new(Name::parse("text").expect("this is a name"))
    }
}

/// What a step executes, once for each folder that it runs in as far as that is known.
fn of_step(step: &Step, root: &Path, params: Option<&Object>) -> Vec<Check> {
    let folders = match &step.cwd {
        None => vec![None],
        Some(cwd) => {
            let known = environment::known_so_far(step, cwd, params);
            known.into_iter().map(Some).collect()
        }
    };
    let in_folder = |cwd: Option<String>| {
        let cwd = cwd.as_deref();
        let probe = match &step.work {
            Work::Run(script) => Probe::Run(script.clone()),
            Work::Exec(words) => Probe::Exec(words.clone()),
            Work::Skill(call) => {
                let words = shell::named(call, root).program(cwd);
                let words = words.iter().map(|word| Template::literal(word));
                Probe::Exec(words.collect())
            }
            Work::Http(_) | Work::Uses(_) | Work::Wait(_) | Work::Approve(_) => return None,
        };
        Some(text(probe, cwd))
    };
    folders.into_iter().filter_map(in_folder).collect()
}

fn of_gate(gate: &Gate) -> Option<Check> {
    match &gate.provider {
        Provider::Script(script) => Some(text(script.probe.clone(), script.cwd.as_deref())),
        Provider::Predicate(_) | Provider::Guardrail(_) | Provider::Llm(_) => None,
    }
}
