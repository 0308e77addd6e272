use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::declared::Declared;
use super::named;
use crate::model::{Check, Object, Plan, Probe, Step, Work};
use crate::name::Name;

/// A file that a check names, that a step names as well and no step declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undeclared {
    /// The step of the check; `None`: it is one of the plan's own.
    pub step: Option<Name>,
    /// The check.
    pub check: Name,
    /// The file, relative to the workspace.
    pub path: PathBuf,
    /// The step that names it.
    pub maker: Name,
}

/// The files that checks of a plan read and that steps seem to make without a declaration: those that
/// the texts of both name, and that are not there.
pub fn undeclared(plan: &Arc<Plan>, root: &Path) -> Vec<Undeclared> {
    let declared = Declared::new(plan, &Object::new());
    let steps = plan.steps().iter();
    let of_steps = steps.flat_map(|step| step.verify.iter().map(|check| (Some(&step.id), check)));
    let of_plan = plan.parts().verify.iter().map(|check| (None, check));
    let mut all = Vec::new();
    for (step, check) in of_steps.chain(of_plan) {
        let paths = named::paths(check).into_iter();
        let open = paths
            .filter(|path| is_file_name(path) && !declared.has(path) && !root.join(path).exists());
        for path in open {
            let maker = plan.steps().iter().find(|step| names(step, &path));
            all.extend(maker.map(|maker| Undeclared {
                step: step.cloned(),
                check: check.name.clone(),
                path,
                maker: maker.id.clone(),
            }));
        }
    }
    all
}

/// Whether a word looks like the name of a file: not every word of a command is one.
fn is_file_name(path: &Path) -> bool {
    path.extension().is_some() || path.components().count() > 1
}

/// Whether the text of a step names a file.
fn names(step: &Step, path: &Path) -> bool {
    let probe = match &step.work {
        Work::Run(script) => Probe::Run(script.clone()),
        Work::Exec(words) => Probe::Exec(words.clone()),
        _ => return false,
    };
    let text = Check {
        probe: Some(probe),
        cwd: step.cwd.as_ref().map(|cwd| cwd.source().to_owned()),
        ..Check::new(step.id.clone())
    };
    named::paths(&text).contains(path)
}
