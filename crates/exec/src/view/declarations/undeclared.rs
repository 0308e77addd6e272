use std::path::{Path, PathBuf};
use std::sync::Arc;

use wf_base::name::Name;
use wf_model::{JsonObject, Plan};

use super::{declared::DeclaredProducts, named, writers::named_by};

/// An undeclared file named by both a check and a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndeclaredFile {
    /// The step of the check; `None`: a check of the plan itself.
    pub step: Option<Name>,
    pub check: Name,
    /// The file, relative to the workspace.
    pub path: PathBuf,
    /// The step naming it.
    pub maker: Name,
}

/// Returns the files that checks of a plan read and that steps seem to create without a declaration: missing files the
/// texts of both name.
pub fn undeclared_files(plan: &Arc<Plan>, root: &Path) -> Vec<UndeclaredFile> {
    let declared = DeclaredProducts::new(plan, &JsonObject::new());
    let steps = plan.steps().iter();
    let of_steps = steps.flat_map(|step| step.verify.iter().map(|check| (Some(&step.id), check)));
    let of_plan = plan.parts().verify.iter().map(|check| (None, check));
    let mut files = Vec::new();
    for (step, check) in of_steps.chain(of_plan) {
        let paths = named::paths(check).into_iter();
        let open =
            paths.filter(|path| is_file_name(path) && !declared.has(path) && !root.join(path).exists());
        for path in open {
            let maker = plan.steps().iter().find(|step| named_by(step).contains(&path));
            files.extend(maker.map(|maker| UndeclaredFile {
                step: step.cloned(),
                check: check.name.clone(),
                path,
                maker: maker.id.clone(),
            }));
        }
    }
    files
}

/// True if a word looks like a file name, which not every word of a command does.
fn is_file_name(path: &Path) -> bool {
    path.extension().is_some() || path.components().count() > 1
}
