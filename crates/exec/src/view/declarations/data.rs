//! The files of a workspace that are data: an approval of what is done with them does not bind their content.

use std::{
    fs::{self, File},
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use globset::GlobSet;

use wf_model::Plan;

use super::declared::family;
use crate::disk::files;

/// The files a plan, and all plans it uses, declare as `data`, in a workspace.
///
/// **Invariant:** a program is none of them, whatever matches it: the executed bytes are bound.
#[derive(Clone, Debug, Default)]
pub struct DataFiles {
    globs: Vec<GlobSet>,
    root: PathBuf,
}

impl DataFiles {
    /// Collects the declarations of a plan, for a workspace given later.
    pub(super) fn of_plan(plan: &Arc<Plan>) -> Self {
        let globs = family(plan).into_iter().flat_map(|plan| &plan.parts().data);
        Self { globs: files::globs(globs.map(String::as_str)), root: PathBuf::new() }
    }

    /// Collects the declarations of a plan, for a workspace.
    pub fn new(plan: &Arc<Plan>, root: &Path) -> Self {
        Self::of_plan(plan).in_workspace(root)
    }

    pub(super) fn in_workspace(self, root: &Path) -> Self {
        Self { root: root.to_path_buf(), ..self }
    }

    pub(super) fn extend(&mut self, other: &Self) {
        self.globs.extend(other.globs.iter().cloned());
        self.root.clone_from(&other.root);
    }

    /// True if a path of the workspace is data.
    pub fn has(&self, path: &Path) -> bool {
        self.globs.iter().any(|glob| glob.is_match(path)) && !is_program(&self.root.join(path))
    }
}

/// True if a file is a program by its own account: it is executable, or names its interpreter.
pub fn is_program(path: &Path) -> bool {
    let Ok(found) = fs::metadata(path) else {
        return false;
    };
    let names_one = || {
        let mut start = [0; 2];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
        read.is_ok() && start == *b"#!"
    };
    found.is_file() && (found.permissions().mode() & 0o111 != 0 || names_one())
}
