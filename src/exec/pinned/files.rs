use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::trail::follow;
use crate::digest::Digest;
use crate::exec::files::globs;
use crate::exec::fixed::{Looked, Said, Site, executed};
use crate::exec::view::{checks, family, product_globs};
use crate::exec::{Unable, environment, planner, shell};
use crate::expr::Template;
use crate::model::{Check, EnvVar, Gate, Plan, Probe, Provider, Script, SecretSource, Step, Work};
use crate::skill;

/// Every file of the workspace that a plan, and all plans that it uses, execute: by its path,
/// relative to the workspace, with the digest of its content, sorted. Of a link, which is listed as
/// well, the content is the path that it leads to.
///
/// Not among them is what steps say that they make, what is not there, and what only a run can
/// name: that is refused when it runs.
pub fn files(plan: &Arc<Plan>, site: Site<'_>) -> Result<Vec<(String, Digest)>, Unable> {
    let plans = family(plan);
    let products: Vec<String> = plans.iter().flat_map(|plan| product_globs(plan)).collect();
    let products = globs(products.iter().map(String::as_str));
    let is_product = |path: &str| products.iter().any(|glob| glob.is_match(path));
    let mut found = BTreeMap::new();
    let mut looked = Looked::default();
    for (at, plan) in plans.into_iter().enumerate() {
        // What others are given is known only when they begin.
        let params = site.params.filter(|_| at == 0);
        for said in commands(plan, Site { params, ..site }) {
            for (path, _) in executed(said, &mut looked) {
                if is_product(&path) {
                    continue;
                }
                let (posts, _) = follow(site.root, &path, true).map_err(|error| {
                    Unable::environmental(format!("cannot read `{path}`: {error}"))
                })?;
                let posts = posts.into_iter().filter(|post| !is_product(&post.path));
                found.extend(posts.map(|post| (post.path, post.digest)));
            }
        }
    }
    for folder in skills(plan) {
        for path in skill_files(site.root, &folder)? {
            let (posts, _) = follow(site.root, &path, true)
                .map_err(|error| Unable::environmental(format!("cannot read `{path}`: {error}")))?;
            found.extend(posts.into_iter().map(|post| (post.path, post.digest)));
        }
    }
    Ok(found.into_iter().collect())
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

/// All that a plan executes, as far as it is known before it runs. One after the other: each has
/// all variables that it sees.
fn commands<'a>(plan: &'a Plan, site: Site<'a>) -> impl Iterator<Item = Said<'a>> {
    let steps = plan.steps().iter();
    let ways = steps.flat_map(|step| (0..step.ways()).filter_map(|way| step.way(way)));
    let of_steps = ways.flat_map(move |step| of_step(plan, step, site));
    let of_checks = checks(plan).filter_map(move |check| of_check(check, site));
    let planner = plan.parts().planner.as_ref().map(planner::as_check);
    let of_planner = planner.and_then(|check| of_check(&check, site));
    let gates = plan.steps().iter().flat_map(|step| &step.gates);
    let gates = gates.chain(&plan.parts().gates);
    let of_gates = gates.filter_map(move |gate| of_gate(gate, site));
    let secrets = plan.parts().secrets.iter();
    let of_secrets = secrets.filter_map(move |secret| of_secret(&secret.source, site));
    let all = of_steps.chain(of_checks).chain(of_planner);
    all.chain(of_gates).chain(of_secrets)
}

fn of_secret<'a>(source: &SecretSource, site: Site<'a>) -> Option<Said<'a>> {
    let SecretSource::Command(argv) = source else {
        return None;
    };
    let vars = site.host.iter();
    Some(Said {
        argv: argv.iter().cloned().map(Some).collect(),
        vars: vars
            .map(|(name, value)| (name.clone(), Some(value.clone())))
            .collect(),
        cwd: site.root.into(),
        root: site.root,
    })
}

/// What a step executes, once for each folder that it runs in as far as that is known.
fn of_step<'a>(plan: &Plan, step: &Step, site: Site<'a>) -> Vec<Said<'a>> {
    let folders = match &step.cwd {
        None => vec![None],
        Some(cwd) => {
            let known = environment::known_so_far(step, cwd, site.params);
            known.into_iter().map(Some).collect()
        }
    };
    let said = folders.into_iter();
    said.filter_map(|cwd| in_folder(plan, step, cwd.as_deref(), site))
        .collect()
}

fn in_folder<'a>(plan: &Plan, step: &Step, cwd: Option<&str>, site: Site<'a>) -> Option<Said<'a>> {
    let argv = match &step.work {
        Work::Run(script) => of_script(script),
        Work::Exec(words) => of_words(words, site),
        Work::Skill(call) => {
            let words = shell::named(call, site.root).program(cwd);
            words.into_iter().map(Some).collect()
        }
        Work::Http(_) | Work::Uses(_) | Work::Wait(_) | Work::Approve(_) => return None,
    };
    let vars = environment::of_step_so_far(site, (&plan.parts().env, step));
    Some(Said {
        argv,
        vars,
        cwd: folder(site.root, cwd),
        root: site.root,
    })
}

fn of_check<'a>(check: &Check, site: Site<'a>) -> Option<Said<'a>> {
    let probe = check.probe.as_ref()?;
    Some(of_probe(probe, &check.env, check.cwd.as_deref(), site))
}

fn of_gate<'a>(gate: &Gate, site: Site<'a>) -> Option<Said<'a>> {
    match &gate.provider {
        Provider::Script(script) => Some(of_probe(
            &script.probe,
            &script.env,
            script.cwd.as_deref(),
            site,
        )),
        Provider::Predicate(_) | Provider::Guardrail(_) | Provider::Llm(_) => None,
    }
}

fn of_probe<'a>(probe: &Probe, env: &[EnvVar], cwd: Option<&str>, site: Site<'a>) -> Said<'a> {
    let argv = match probe {
        Probe::Run(script) => of_script(script),
        Probe::Exec(words) => of_words(words, site),
    };
    Said {
        argv,
        vars: environment::of_check_so_far(site.host, site.root, site.params, env),
        cwd: folder(site.root, cwd),
        root: site.root,
    }
}

fn folder(root: &Path, cwd: Option<&str>) -> std::path::PathBuf {
    cwd.map_or_else(|| root.to_path_buf(), |cwd| root.join(cwd))
}

fn of_script(script: &Script) -> Vec<Option<String>> {
    let words = script.shell.iter().chain(Some(&script.text));
    words.cloned().map(Some).collect()
}

fn of_words(words: &[Template], site: Site<'_>) -> Vec<Option<String>> {
    let known = environment::ParamsAlone(site.params);
    words.iter().map(|word| word.render(&known).ok()).collect()
}
