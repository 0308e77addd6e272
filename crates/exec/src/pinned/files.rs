//! The lists of pinned files: those named by texts, and those of skills.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, ErrorKind},
    path::Path,
    sync::Arc,
};

use wf_base::{digest::Sha256Digest, name::Name};
use wf_model::{
    Check, CheckProbe, Gate, GateProvider, JsonObject, Plan, SecretSource, ShellScript, Step, StepWork,
    expr::Template,
};
use wf_skill as skill;

use super::trail::{PathEnd, PathEntry, resolve_path};
use crate::{
    disk::files::globs,
    gate::planner,
    processes::{environment, shell},
    view::{DataFiles, checks, family, named, product_globs},
    work_error::WorkError,
};

/// Returns the files of the workspace a plan, and all plans it uses, name literally, and those of the skills whose
/// scripts they run: by path, relative to the workspace, with the digest of the content, sorted. A link is listed as
/// well; its content is its target path.
///
/// Files that steps declare as products, data, and files that do not exist are left out.
pub fn files(
    plan: &Arc<Plan>,
    root: &Path,
    params: &JsonObject,
) -> Result<Vec<(String, Sha256Digest)>, WorkError> {
    let plans = family(plan);
    let products: Vec<String> = plans.iter().flat_map(|plan| product_globs(plan)).collect();
    let products = globs(products.iter().map(String::as_str));
    let data = DataFiles::new(plan, root);
    let is_free = |path: &str| products.iter().any(|glob| glob.is_match(path)) || data.has(Path::new(path));
    let mut digests = BTreeMap::new();
    for (at, plan) in plans.into_iter().enumerate() {
        // The parameters of used plans are known only when they begin.
        let params = (at == 0).then_some(params);
        for text in texts(plan, root, params) {
            for path in named(&text) {
                let Some(path) = path.to_str().filter(|path| !is_free(path)) else {
                    continue;
                };
                // A file that the user cannot read cannot be executed for them.
                let posts = match resolve_path(root, path, true) {
                    Err(error) if error.kind() == ErrorKind::PermissionDenied => Vec::new(),
                    followed => path_digests(path, followed)?,
                };
                let posts = posts.into_iter().filter(|(path, _)| !is_free(path));
                digests.extend(posts);
            }
        }
    }
    for folder in skills(plan) {
        for path in skill_files(root, &folder)? {
            digests.extend(path_digests(&path, resolve_path(root, &path, true))?);
        }
    }
    Ok(digests.into_iter().collect())
}

/// Returns the files of the workspace the words of a command name, like [`files()`].
pub fn files_named_by(argv: &[String], root: &Path) -> Result<Vec<(String, Sha256Digest)>, WorkError> {
    let words = argv.iter().map(|word| Template::literal(word)).collect();
    let mut paths = BTreeMap::new();
    for path in named(&text(relative(CheckProbe::Exec(words), root), None)) {
        let Some(path) = path.to_str() else { continue };
        paths.extend(path_digests(path, resolve_path(root, path, true))?);
    }
    Ok(paths.into_iter().collect())
}

/// Returns the links and the file of a path with their digests; nothing if there is no file.
fn path_digests(
    path: &str,
    followed: io::Result<(Vec<PathEntry>, PathEnd)>,
) -> Result<Vec<(String, Sha256Digest)>, WorkError> {
    let (posts, _) =
        followed.map_err(|error| WorkError::environmental(format!("cannot read `{path}`: {error}")))?;
    let posts = posts.into_iter().map(|post| (post.path, post.digest));
    Ok(posts.collect())
}

/// Returns the folders of the skills a plan and all plans it uses work by: those whose scripts they run, and those of
/// agents.
pub fn skills(plan: &Arc<Plan>) -> BTreeSet<String> {
    let plans = family(plan).into_iter();
    let folders = plans.flat_map(|plan| {
        let of_step = |step: &Step| match &step.work {
            StepWork::Skill(call) => vec![call.folder.clone()],
            StepWork::Agent(work) => work.skills.iter().map(|skill| skill.folder.clone()).collect(),
            _ => Vec::new(),
        };
        plan.steps().iter().flat_map(Step::ways).flat_map(of_step).collect::<Vec<_>>()
    });
    folders.collect()
}

/// Returns every file of a skill's folder, relative to the workspace.
pub(super) fn skill_files(root: &Path, folder: &str) -> Result<Vec<String>, WorkError> {
    let bundle = skill::disk::read(&root.join(folder))
        .map_err(|bad| WorkError::logical(format!("{bad}; {}", bad.remedy())))?;
    let paths = bundle.files.into_keys();
    Ok(paths.map(|path| format!("{folder}/{path}")).collect())
}

/// Returns everything a plan executes, each as a check with the same command, rendered with the values known before the
/// run.
fn texts(plan: &Plan, root: &Path, params: Option<&JsonObject>) -> Vec<Check> {
    let ways = plan.steps().iter().flat_map(Step::ways);
    let mut commands: Vec<Check> = ways.flat_map(|step| of_step(step, root, params)).collect();
    commands.extend(checks(plan).cloned());
    commands.extend(plan.parts().planner.as_ref().and_then(planner::as_check));
    let gates = plan.steps().iter().flat_map(|step| &step.gates);
    commands.extend(gates.chain(&plan.parts().gates).filter_map(|gate| of_gate(gate)));
    let secrets = plan.parts().secrets.iter();
    commands.extend(secrets.filter_map(|secret| match &secret.source {
        SecretSource::Command(argv) => {
            let words = argv.iter().map(|word| Template::literal(word));
            Some(text(CheckProbe::Exec(words.collect()), None))
        }
        _ => None,
    }));
    for check in &mut commands {
        if let Some(CheckProbe::Exec(words)) = &mut check.probe {
            let values = environment::KnownValues::of_params(params);
            let values = words.iter().filter_map(|word| word.render(&values).ok());
            *words = values.map(|word| Template::literal(&word)).collect();
        }
        if check.cwd.is_none() {
            check.probe = check.probe.take().map(|probe| relative(probe, root));
        }
    }
    commands
}

/// Returns a command naming the files of the workspace by their relative paths where it had the absolute ones.
fn relative(probe: CheckProbe, root: &Path) -> CheckProbe {
    let tops = [format!("{}/", root.display()), "$WF_WORKSPACE/".into(), "${WF_WORKSPACE}/".into()];
    let shorter = |text: &str| tops.iter().fold(text.to_owned(), |text, top| text.replace(top, "./"));
    match probe {
        CheckProbe::Run(script) => CheckProbe::Run(ShellScript { text: shorter(&script.text), ..script }),
        CheckProbe::Exec(words) => {
            CheckProbe::Exec(words.iter().map(|word| Template::literal(&shorter(word.source()))).collect())
        }
    }
}

fn text(probe: CheckProbe, cwd: Option<&str>) -> Check {
    Check {
        probe: Some(probe),
        cwd: cwd.map(str::to_owned),
        ..Check::new(Name::parse("text").expect("this is a name"))
    }
}

/// Returns the work of a step, once for each known folder where it runs.
fn of_step(step: &Step, root: &Path, params: Option<&JsonObject>) -> Vec<Check> {
    let folders = match &step.cwd {
        None => vec![None],
        Some(cwd) => {
            let values = environment::known_so_far(step, cwd, params);
            values.into_iter().map(Some).collect()
        }
    };
    let in_folder = |cwd: Option<String>| {
        let cwd = cwd.as_deref();
        let probe = match &step.work {
            StepWork::Agent(work) if !work.command.is_empty() => {
                CheckProbe::Exec(work.command.iter().map(|word| Template::literal(word)).collect())
            }
            StepWork::Skill(call) => {
                let words = shell::with_interpreter(call, root).program(cwd);
                let words = words.iter().map(|word| Template::literal(word));
                CheckProbe::Exec(words.collect())
            }
            work => work.probe()?,
        };
        Some(text(probe, cwd))
    };
    folders.into_iter().filter_map(in_folder).collect()
}

fn of_gate(gate: &Gate) -> Option<Check> {
    match &gate.provider {
        GateProvider::Script(script) => Some(text(script.probe.clone(), script.cwd.as_deref())),
        GateProvider::Predicate(_) | GateProvider::Guardrail(_) | GateProvider::Llm(_) => None,
    }
}
