//! Copies of verified files: later processes see these bytes, and not the later content of the path.
//!
//! ```text
//! work ended      keep ──▶ a copy of each artifact with its permissions, in the run's folder
//! judged          evidence: the checked digests
//! before a start  of_step, of_checks ──▶ copies for the sandbox
//!                                    ──▶ Err: a file read without a copy has changed
//! work ended      release: the declared files changed by a step are its own
//! ```
//!
//! **Invariant:** a copy is shown only after its content was compared with the checked digest.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use wf_base::name::{Name, RunId};
use wf_core::machine::{Artifact, Attempt, CachedFile, Event, EventKind, TaskId};
use wf_exec::{
    WorkError,
    evidence::{EvidenceDifference, difference},
    files,
    sandbox::KeptCopy,
    view,
};
use wf_model::{SandboxPermissions, Step, StepWork, expr::EvalError};
use wf_store::StoreError;

use super::worktrees;
use crate::{
    run::{
        RunContext,
        attempt_task::{step_of, written_step},
        result_files::{FOLDER, KeptFile, folder},
        scope::TemplateValues,
    },
    session::EngineSession,
};

/// The folder of files that changed beside a run, as they were when it began.
const RESTORED: &str = "restored";

/// The permissions of a copy of a file nobody sees any more.
const DEFAULT_MODE: u32 = 0o644;

/// The maximum number of files in a message.
const MAX_NAMED_FILES: usize = 3;

/// The remedy for a changed file.
const REMEDY: &str = "restore it, or list it in `writes` (with `allow`: in `allow.write`) of the \
    step that is to change it";

impl KeptFile {
    /// Compares the file at its path with what was kept.
    fn is_changed(&self, run: &RunContext) -> bool {
        let session = &run.session;
        match difference(&session.root, &self.path, self.digest, &session.shared.memo) {
            Some(EvidenceDifference::Changed) => true,
            Some(EvidenceDifference::Gone) => false,
            // A link can lead elsewhere at any time.
            None => self.copy.exists() && !has_no_links(&session.root, &self.path),
        }
    }

    /// Makes the copy, unless it is there.
    fn ensure(&self, run: &RunContext) -> Result<(), StoreError> {
        let (folder, name) = (self.copy.parent(), self.copy.file_name());
        let (Some(folder), Some(name)) = (folder, name.and_then(|name| name.to_str())) else {
            return Ok(());
        };
        if difference(folder, name, self.digest, &run.session.shared.memo).is_none() {
            return Ok(());
        }
        let copy_metadata =
            fs::metadata(&self.copy).or_else(|_| fs::metadata(run.session.root.join(&self.path)));
        let mode = copy_metadata.map_or(DEFAULT_MODE, |copy_metadata| copy_metadata.permissions().mode());
        run.session.store.blobs().restore(&self.digest, &self.copy, mode)
    }
}

/// Copies what a task left, with its permissions and its time, if it is going to be checked.
pub(crate) fn keep(run: &RunContext, attempt: &Attempt, files: &[CachedFile]) -> Result<(), WorkError> {
    let (place, root) = (&attempt.task_id, worktrees::folder_of(run, attempt));
    let unneeded = run.session.sandboxes.is_none() || written_step(run, place).verify.is_empty();
    // An earlier attempt may have left a folder where there is a file now.
    drop(fs::remove_dir_all(folder(run, place)));
    // What is behind a link is not shown: its path would have to be.
    let is_plain = |file: &&CachedFile| has_no_links(&root, &file.path);
    for file in files.iter().filter(|_| !unneeded).filter(is_plain) {
        let copy = copy_path(run, place, &file.path);
        let restored = run.session.store.blobs().restore(&file.digest, &copy, file.mode);
        restored.map_err(|error| WorkError::environmental(error.to_string()))?;
        // Only for programs that compare times; without it they do more than they must.
        let modified = fs::metadata(root.join(&file.path)).and_then(|found| found.modified());
        drop(modified.and_then(|time| File::open(&copy)?.set_modified(time)));
    }
    Ok(())
}

fn copy_path(run: &RunContext, task_id: &TaskId, path: &str) -> PathBuf {
    folder(run, task_id).join(path)
}

/// Takes over the copies of an ended nested run, for the task it was.
pub(crate) fn adopt(run: &RunContext, task_id: &TaskId, nested_run: &RunContext) {
    for (task, files) in nested_run.all_evidence() {
        for file in files.into_iter().filter(|file| !file.is_product()) {
            let to = copy_path(run, task_id, &file.path);
            // A copy that is missing is made anew.
            let moved = to.parent().map_or(Ok(()), fs::create_dir_all);
            drop(moved.and_then(|()| fs::rename(copy_path(nested_run, &task, &file.path), &to)));
        }
    }
    tidy(nested_run);
}

/// Tidies the folder of an ended run here: its logs become one file, its copies and worktrees are removed.
pub(crate) fn tidy(run: &RunContext) {
    // Where that fails, the logs stay as they are, and can be read.
    drop(wf_exec::log::archive(&run.dir));
    discard(run);
}

/// Removes the copies of an ended run, and its worktrees.
pub(crate) fn discard(run: &RunContext) {
    worktrees::discard(run);
    drop(fs::remove_dir_all(run.dir.join(FOLDER)));
    drop(fs::remove_dir_all(run.dir.join(RESTORED)));
}

/// Returns the folder of files a run's checks see as they were when it began.
pub(super) fn restored_folder(session: &EngineSession, run: &RunId) -> PathBuf {
    session.store.folder().run(run).join(RESTORED)
}

/// Returns the verified files of all that a task depends on, or of the whole run.
pub(crate) fn kept_files(run: &RunContext, task_id: Option<&TaskId>) -> Vec<KeptFile> {
    let evidence = run.all_evidence();
    let mut files = run.inherited_files();
    if evidence.is_empty() && files.is_empty() {
        return files;
    }
    let direct: Vec<&Name> = task_id.map(|place| direct(run, &place.step)).unwrap_or_default();
    let upstream = task_id.map(|place| upstream(run, &place.step));
    for (task, artifacts) in evidence {
        if upstream.as_ref().is_some_and(|upstream| !upstream.contains(&task.step)) {
            continue;
        }
        let is_direct = direct.contains(&&task.step);
        files.extend(artifacts.into_iter().filter(|file| !file.is_product()).map(|file| KeptFile {
            step: task.step.clone(),
            copy: copy_path(run, &task, &file.path),
            path: file.path,
            digest: file.digest,
            is_direct,
        }));
    }
    let blobs = run.session.store.blobs();
    files.retain(|file| !run.is_released(&file.copy) && blobs.path(&file.digest).exists());
    files
}

/// Returns the steps a step depends on directly.
fn direct<'a>(run: &'a RunContext, step: &Name) -> Vec<&'a Name> {
    let needs = |ix| run.plan.step(ix).depends_on.iter().map(|ix| &run.plan.step(*ix).id);
    run.plan.find(step.as_str()).into_iter().flat_map(needs).collect()
}

/// Returns all steps a step depends on.
fn upstream<'a>(run: &'a RunContext, step: &Name) -> BTreeSet<&'a Name> {
    let mut names = BTreeSet::new();
    let mut open = direct(run, step);
    while let Some(step) = open.pop() {
        if names.insert(step) {
            open.extend(direct(run, step));
        }
    }
    names
}

/// Returns the copies an attempt is to see; `allow` are its permissions, if it is confined. Fails if a file it reads
/// without a copy has changed.
pub(crate) fn of_step(
    run: &RunContext,
    attempt: &Attempt,
    permissions: Option<&SandboxPermissions>,
) -> Result<Vec<KeptCopy>, WorkError> {
    let files = kept_files(run, Some(&attempt.task_id)).into_iter();
    let (shown, real): (Vec<KeptFile>, Vec<KeptFile>) =
        files.partition(|file| permissions.is_some_and(|allow| !allow.writes(&file.path)));
    let step = step_of(run, &attempt.task_id);
    // What an earlier attempt, or another item, wrote may be in any state.
    let is_first = attempt.attempt <= 1 && attempt.task_id.item.is_none_or(|item| item == 0);
    let declared = view::declared_by(&step, run.params());
    let is_own = |file: &KeptFile| !is_first && declared(Path::new(&file.path));
    let is_read = |file: &KeptFile| file.is_direct && !is_own(file);
    ensure_unchanged(run, real.into_iter().filter(is_read))?;
    copies(run, shown)
}

/// Returns the verified files an attempt reads as they lie there, and does not make itself. For a step using a plan
/// there are none: the steps of that plan have theirs.
pub(super) fn uncopied_files(
    run: &RunContext,
    attempt: &Attempt,
    permissions: Option<&SandboxPermissions>,
) -> Vec<KeptFile> {
    let mut files = kept_files(run, Some(&attempt.task_id));
    let step = step_of(run, &attempt.task_id);
    let is_nested = matches!(step.work, StepWork::Uses(_) | StepWork::Generated(_));
    if is_nested || worktrees::folder_of(run, attempt) != run.session.root {
        files.clear();
    }
    if !files.is_empty() {
        let declared = view::declared_by(&step, run.params());
        let root = &run.session.root;
        let is_copied = |file: &KeptFile| {
            permissions.is_some_and(|allow| !allow.writes(&file.path)) && has_no_links(root, &file.path)
        };
        files.retain(|file| !is_copied(file) && !declared(Path::new(&file.path)));
    }
    files
}

/// Returns the first of some files with another content than the verified one.
pub(super) fn changed_file<'a>(
    run: &RunContext,
    mut files: impl Iterator<Item = &'a KeptFile>,
) -> Option<String> {
    files.find(|file| file.is_changed(run)).map(|file| file.path.clone())
}

/// Fails if one of these files has changed.
fn ensure_unchanged(run: &RunContext, files: impl Iterator<Item = KeptFile>) -> Result<(), WorkError> {
    match summary(files.filter(|file| file.is_changed(run))) {
        None => Ok(()),
        Some(paths) => Err(WorkError::logical(format!("changed after it was verified: {paths}; {REMEDY}"))),
    }
}

/// Lists the first of some files and the number of others; `None` if there are none.
fn summary(files: impl Iterator<Item = KeptFile>) -> Option<String> {
    let files: BTreeSet<String> = files.map(|file| format!("{} (of `{}`)", file.path, file.step)).collect();
    let first: Vec<&str> = files.iter().take(MAX_NAMED_FILES).map(String::as_str).collect();
    match files.len().saturating_sub(MAX_NAMED_FILES) {
        _ if files.is_empty() => None,
        0 => Some(first.join(", ")),
        more => Some(format!("{} and {more} more", first.join(", "))),
    }
}

/// Returns the copies that checks are to see of files, and of the files of their own result.
fn of_checks(
    run: &RunContext,
    task_id: Option<&TaskId>,
    own_artifacts: Vec<Artifact>,
) -> Result<Vec<KeptCopy>, WorkError> {
    let mut files = kept_files(run, task_id);
    if let Some(place) = task_id {
        files.extend(own_artifacts.into_iter().filter(|file| !file.is_product()).map(|file| KeptFile {
            step: place.step.clone(),
            copy: copy_path(run, place, &file.path),
            path: file.path,
            digest: file.digest,
            is_direct: true,
        }));
    }
    let blobs = run.session.store.blobs();
    files.retain(|file| blobs.path(&file.digest).exists());
    copies(run, files)
}

/// Does the same on a thread for waits, if the checks have a view of their own.
pub(crate) async fn of_checks_of(
    run: &Arc<RunContext>,
    task_id: Option<TaskId>,
    own_artifacts: Vec<Artifact>,
) -> Result<Vec<KeptCopy>, WorkError> {
    let has_view = run.view.as_ref().is_some_and(|view| !view.is_open());
    if run.session.sandboxes.is_none() || !has_view {
        return Ok(Vec::new());
    }
    blocking(run, move |run| of_checks(run, task_id.as_ref(), own_artifacts)).await
}

/// Returns a remark about the files changed since checks verified them, and shown to checks as verified; empty if
/// there are none.
pub(crate) fn remark(run: &RunContext, task_id: Option<&TaskId>) -> String {
    let files = kept_files(run, task_id).into_iter();
    let changed = files.filter(|file| file.is_changed(run) && has_no_links(&run.session.root, &file.path));
    summary(changed).map_or_else(String::new, |paths| {
        format!("; seen as it was verified, but changed since: {paths}; {REMEDY}")
    })
}

/// Makes the copies of files that are there, each once: the last of a path counts. Fails if the path
/// of one has become a link, behind which it cannot be shown.
fn copies(run: &RunContext, files: Vec<KeptFile>) -> Result<Vec<KeptCopy>, WorkError> {
    let by_path: BTreeMap<String, KeptFile> =
        files.into_iter().map(|file| (file.path.clone(), file)).collect();
    let is_plain = |file: &KeptFile| has_no_links(&run.session.root, &file.path);
    let (plain, linked): (Vec<KeptFile>, Vec<KeptFile>) = by_path.into_values().partition(is_plain);
    ensure_unchanged(run, linked.into_iter().filter(|file| file.copy.exists() || file.is_direct))?;
    let mut copies = Vec::with_capacity(plain.len());
    for file in plain {
        file.ensure(run).map_err(|error| WorkError::environmental(error.to_string()))?;
        copies.push(KeptCopy { path: file.path.into(), copy: file.copy, is_original: false });
    }
    Ok(copies)
}

/// True if a path is that of a file, and no part of it is a link.
fn has_no_links(root: &Path, path: &str) -> bool {
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
    let at = root.join(path);
    at.is_file() && fs::canonicalize(&at).is_ok_and(|real| real == at)
}

/// Notes that files are not shown as they were kept any more: a step declaring them has changed them.
pub(crate) fn release(run: &RunContext, writer: &TaskId) {
    let files = kept_files(run, None);
    if files.is_empty() {
        return;
    }
    let declared = view::declared_by(&step_of(run, writer), run.params());
    for file in files {
        if file.step != writer.step && declared(Path::new(&file.path)) && file.is_changed(run) {
            run.release(file.copy);
        }
    }
}

/// Does the same for all steps that ended under earlier engines after the files were checked.
pub(crate) fn release_recorded(run: &RunContext, events: &[(u64, Event)]) {
    let mut is_any_checked = false;
    for (_, event) in events {
        match &event.fact {
            EventKind::EvidenceTaken { .. } | EventKind::StepReused { .. } | EventKind::ItemReused(_) => {
                is_any_checked = true;
            }
            EventKind::AttemptEnded { attempt, .. } if is_any_checked => release(run, &attempt.task_id),
            _ => {}
        }
    }
}

/// Calls a function on a thread for waits: it may wait for the disk.
pub(crate) async fn blocking<T: Send + 'static>(
    run: &Arc<RunContext>,
    work: impl FnOnce(&RunContext) -> Result<T, WorkError> + Send + 'static,
) -> Result<T, WorkError> {
    let run = Arc::clone(run);
    let done = tokio::task::spawn_blocking(move || work(&run)).await;
    done.unwrap_or_else(|_| Err(WorkError::environmental("cannot read the files that were kept")))
}

/// Returns the globs of the files a step leaves, rendered for a task.
pub(crate) fn artifact_globs(step: &Step, values: &TemplateValues<'_>) -> Result<Vec<String>, WorkError> {
    let globs = step.artifacts.iter().map(|glob| files::glob(glob, values));
    let globs: Result<Vec<String>, EvalError> = globs.collect();
    globs.map_err(|error| WorkError::logical(error.to_string()))
}

/// Stores the files of a task matching globs, except those revealing a secret.
pub(crate) async fn store_artifacts(
    run: &Arc<RunContext>,
    attempt: &Attempt,
    globs: Vec<String>,
) -> Result<Vec<Artifact>, WorkError> {
    let (run, attempt) = (Arc::clone(run), attempt.clone());
    let mask = run.mask().await;
    let collect = move || {
        let blobs = run.session.store.blobs();
        let cached_files = files::artifacts(&worktrees::folder_of(&run, &attempt), &globs, &mask, |path| {
            blobs.put_file(path)
        })?;
        keep(&run, &attempt, &cached_files)?;
        let artifact = |file: CachedFile| Artifact {
            path: file.path,
            digest: file.digest,
            size: file.size,
            released_by: None,
        };
        Ok(cached_files.into_iter().map(artifact).collect())
    };
    match tokio::task::spawn_blocking(collect).await {
        Ok(cached_files) => cached_files,
        Err(_) => Err(WorkError::environmental("cannot collect the artifacts")),
    }
}
