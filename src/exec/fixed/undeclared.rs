use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::Site;
use super::look::Why;
use super::needs::{Relied, Scene, said_by, tidy};
use super::record::Fixed;
use crate::exec::environment;
use crate::model::{Check, Plan, Probe, Script, Work};
use crate::name::Name;

/// A file that a check relies on, and that no step declares although one makes it, or although it is
/// not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undeclared {
    /// The step of the check; `None`: it is one of the plan's own.
    pub step: Option<Name>,
    /// The check.
    pub check: Name,
    /// The file, relative to the workspace.
    pub path: String,
    /// The step that makes it, as far as its script says that.
    pub maker: Option<Name>,
}

/// The files of which it can be seen before a run that they will have changed when their check is
/// made: then it cannot pass.
pub fn undeclared(plan: &Arc<Plan>, site: Site<'_>) -> Vec<Undeclared> {
    let fixed = Fixed::recorded(plan, &[]);
    let makers = makers(plan, site);
    let steps = plan.steps().iter();
    let of_steps = steps.flat_map(|step| step.verify.iter().map(|check| (Some(&step.id), check)));
    let of_plan = plan.parts().verify.iter().map(|check| (None, check));
    let mut all = Vec::new();
    for (step, check) in of_steps.chain(of_plan) {
        let Ok(glimpse) = fixed.glimpse(check, site) else {
            continue;
        };
        let own = made_by(check, site);
        for (path, found) in glimpse.0 {
            let maker = makers.get(&path);
            let missing = found.why == Why::Script && found.mark.digest.is_none();
            let made = matches!(found.why, Why::Script | Why::Read | Why::Listed);
            let counts = missing || made && maker.is_some();
            if counts && !path.starts_with('/') && !own.contains(&path) {
                all.push(Undeclared {
                    step: step.cloned(),
                    check: check.name.clone(),
                    path,
                    maker: maker.cloned(),
                });
            }
        }
    }
    all
}

/// The files that scripts of steps say they make, each with its step.
fn makers(plan: &Plan, site: Site<'_>) -> BTreeMap<String, Name> {
    let mut makers = BTreeMap::new();
    for step in plan.steps() {
        let argv = match &step.work {
            Work::Run(script) => words(script),
            _ => continue,
        };
        let folders = match &step.cwd {
            None => vec![None],
            Some(cwd) => {
                let known = environment::known_so_far(step, cwd, site.params);
                known.into_iter().map(Some).collect()
            }
        };
        for folder in folders {
            let made = said(&argv, folder.as_deref(), site).made;
            for path in shown(made, site) {
                makers.entry(path).or_insert_with(|| step.id.clone());
            }
        }
    }
    makers
}

/// The scripts that a check makes itself before it executes them.
fn made_by(check: &Check, site: Site<'_>) -> BTreeSet<String> {
    let argv = match &check.probe {
        Some(Probe::Run(script)) => words(script),
        Some(Probe::Exec(words)) => {
            let known = environment::ParamsAlone(site.params);
            words.iter().map(|word| word.render(&known).ok()).collect()
        }
        None => return BTreeSet::new(),
    };
    shown(said(&argv, check.cwd.as_deref(), site).made, site)
}

fn words(script: &Script) -> Vec<Option<String>> {
    let words = script.shell.iter().chain(Some(&script.text));
    words.cloned().map(Some).collect()
}

fn said(argv: &[Option<String>], cwd: Option<&str>, site: Site<'_>) -> Relied {
    let cwd = cwd.map_or_else(|| site.root.to_path_buf(), |cwd| site.root.join(cwd));
    let scene = Scene {
        vars: BTreeMap::new(),
        cwd: Some(tidy(&cwd)),
        root: site.root.to_path_buf(),
    };
    said_by(argv, scene)
}

fn shown(files: BTreeSet<PathBuf>, site: Site<'_>) -> BTreeSet<String> {
    let inside = files.into_iter().filter_map(|file| {
        let below = file.strip_prefix(site.root).ok()?;
        Some(below.to_string_lossy().into_owned())
    });
    inside.collect()
}
