use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use crate::{
    CliExitCode, CommandError, Host, Workspace, normalize_path, revision::tracked_files,
    specs::load::LoadedPlan,
};
use wf_base::{digest::Sha256Digest, keyword::Keyword};
use wf_core::machine::{PinnedFile, RunApproval};
use wf_exec::{
    WorkError, keyfile, pinned,
    view::{self, DataFiles},
};
use wf_model::{GoalParam, JsonObject};

/// The content an approval of a plan in advance is bound to.
#[derive(Clone, Debug)]
pub struct ApprovedTree {
    /// The files of the workspace, and every text the plan is made of. Sorted by path.
    pub files: Vec<PinnedFile>,
    /// The declared products of the plan, as globs: they are approved with it, with any content.
    pub products: Vec<String>,
}

/// Returns the files an approval signed at the start of its run is bound to: every text that
/// the plan is made of, and every file it names, as they are now. Sorted by path.
pub fn run_pins(loaded: &LoadedPlan, params: &JsonObject) -> Result<Vec<PinnedFile>, CommandError> {
    let (plan, params) = (whole_plan(loaded), approved_params(loaded, params));
    let named = pinned::files(plan, &loaded.workspace.root, &params).map_err(unreadable)?;
    let named = named.into_iter().map(|(path, digest)| pin(&loaded.workspace, path, digest));
    with_texts(loaded, named)
}

/// Returns the content an approval of a plan in advance is bound to: the whole workspace as it
/// is now, except for the products and the data of the plan, and the approval itself, which is at `token`. Of a
/// goal that is the whole of it: checks and repair, whatever values the reconciliation gives.
pub fn approved_tree(
    host: &Host,
    loaded: &LoadedPlan,
    params: &JsonObject,
    token: &Path,
) -> Result<ApprovedTree, CommandError> {
    let tracked = tracked_files(host, &loaded.workspace)?;
    // The content of a workspace that no commit has is unknown.
    let tracked = tracked.filter(|files| files.contains(Path::new(&loaded.path)));
    statement_pins(host, loaded, params, token, tracked.as_ref())
}

/// Returns the same for a started run: the approved files as they are now.
pub fn current_tree(
    host: &Host,
    loaded: &LoadedPlan,
    params: &JsonObject,
    approved: &RunApproval,
) -> Result<ApprovedTree, CommandError> {
    let files = approved.pinned_files.iter().map(|pin| PathBuf::from(&pin.path));
    let token = token_path(Path::new(&loaded.path));
    statement_pins(host, loaded, params, &token, Some(&files.collect()))
}

fn statement_pins(
    host: &Host,
    loaded: &LoadedPlan,
    params: &JsonObject,
    token: &Path,
    tracked: Option<&BTreeSet<PathBuf>>,
) -> Result<ApprovedTree, CommandError> {
    let mut products = view::products(whole_plan(loaded), &approved_params(loaded, params));
    let workspace = &loaded.workspace;
    products.push(view::exactly(Path::new(&workspace.name(token))));
    let keys = keyfile::folders(&host.vars()).into_iter();
    let apart: Vec<PathBuf> = keys.chain([workspace.state.clone()]).collect();
    let data = DataFiles::new(whole_plan(loaded), &workspace.root);
    let files = view::tree(&workspace.root, &apart, &products, &data, tracked);
    Ok(ApprovedTree { files: with_texts(loaded, files.map_err(unreadable)?)?, products })
}

fn unreadable(error: WorkError) -> CommandError {
    CommandError::new(CliExitCode::Usage, error.reason)
}

/// A plan, or all of a goal.
fn whole_plan(loaded: &LoadedPlan) -> &std::sync::Arc<wf_model::Plan> {
    loaded.goal.as_ref().map_or(&loaded.plan, |goal_plan| &goal_plan.whole_plan)
}

/// Files, and every text a plan is made of. Sorted by path.
pub fn with_texts(
    loaded: &LoadedPlan,
    files: impl IntoIterator<Item = PinnedFile>,
) -> Result<Vec<PinnedFile>, CommandError> {
    let mut pinned_files: Vec<PinnedFile> = files.into_iter().collect();
    pinned_files.extend(loaded.sources.iter().map(|(path, text)| {
        let digest = Sha256Digest::of_bytes(text.as_bytes());
        pin(&loaded.workspace, path.clone(), digest)
    }));
    pinned_files.sort();
    pinned_files.dedup();
    if let Some([one, _]) =
        pinned_files.array_windows().find(|[one, other]| (&one.path, one.link) == (&other.path, other.link))
    {
        let message = format!("{} changed while it was being read", one.path);
        return Err(CommandError::new(CliExitCode::Approval, message).hint("try again"));
    }
    Ok(pinned_files)
}

/// Pins a file of the workspace to its content, and to its executable bit as it is now. A link has none: the
/// content at its path is that of another file.
pub(super) fn pin(workspace: &Workspace, path: String, digest: Sha256Digest) -> PinnedFile {
    let result = fs::symlink_metadata(workspace.root.join(&path));
    let executable =
        result.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0);
    PinnedFile { executable, ..PinnedFile::file(path, digest) }
}

/// Returns the parameters; for a goal, the ones given by a reconciliation as outside of one.
fn approved_params(loaded: &LoadedPlan, params: &JsonObject) -> JsonObject {
    let mut params = params.clone();
    for param in GoalParam::ALL.iter().filter(|_| loaded.goal.is_some()) {
        if let Some(value) = params.get_mut(param.as_str()) {
            *value = param.default_value().into();
        }
    }
    params
}

pub fn token_at(host: &Host, loaded: &LoadedPlan, named_path: Option<&PathBuf>) -> PathBuf {
    match named_path {
        Some(path) => normalize_path(&host.cwd().join(path)),
        None => token_path(&loaded.workspace.root.join(&loaded.path)),
    }
}

/// Returns the default path of the approval of a plan: `plan.approval.json` beside `plan.md`.
pub fn token_path(plan: &Path) -> PathBuf {
    plan.with_extension("approval.json")
}
