//! The reuse of cached results.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use serde_json::Value;

use wf_base::{digest::Sha256Digest, redact::SecretMask};
use wf_core::{
    machine::{Artifact, Attempt, CachedFile, CachedFileKind, CachedResult, InputKind, StepItem, TaskId},
    observe::TaskRemark,
};
use wf_exec::{
    WorkError, cache,
    cached_files::{self, CachedContent, EarlierFiles},
    environment,
    evidence::{EvidenceDifference, difference},
    files,
};
use wf_model::{JsonObject, Step, StepWork, definition, expr::Template};
use wf_store::{CacheEntry, CacheLookup, StoreError};

use super::argv;
use crate::{
    files::copies,
    run::{AttemptTask, RunContext, attempt_task::step_of, context::KnownKey, scope::secrets_read},
    session::{UnitResult, state_addition::StateAddition},
};

/// The beginning of the reasons for which a result was not stored.
const NOT_STORED: &str = "cannot store its result in the cache: ";

/// Returns the remark about a task whose result was not stored, if a lookup says so.
pub(crate) fn remark_of(lookup: &CacheLookup) -> Option<TaskRemark> {
    let reason = cache::miss_reason(&lookup.parts)?;
    reason.starts_with(NOT_STORED).then(|| TaskRemark::NotStored(reason.to_owned()))
}

/// Looks up a result and restores its files. A failed lookup counts as a miss: the work runs, and
/// reports itself what is wrong.
pub(crate) async fn restore_cached(
    run: Arc<RunContext>,
    task_id: TaskId,
    item: Option<StepItem>,
    reads: JsonObject,
) -> UnitResult {
    let attempt = Attempt { task_id: task_id.clone(), attempt: 0 };
    let task = AttemptTask::new(Arc::clone(&run), attempt, item, reads);
    let Some(keyed) = blocking(move || KeyedTask::of(task)).await.flatten() else {
        return Ok(Some(InputKind::Looked { task_id, found: None }));
    };
    let found = find(&run, &keyed.key).await?;
    let Some((lookup, entry)) = blocking(move || keyed.take(found)).await else {
        return Ok(Some(InputKind::Looked { task_id, found: None }));
    };
    run.session.note_addition(|| StateAddition::Lookup(Box::new(lookup.clone())));
    run.session.store.cache().note_lookup(lookup).await?;
    let found = entry.map(|entry| CachedResult {
        cache_key: entry.key,
        reused_from: entry.run,
        outputs: entry.outputs,
        artifacts: entry.artifacts,
    });
    Ok(Some(InputKind::Looked { task_id, found }))
}

/// A found result; the error is the reason why it cannot be used.
type FoundResult = Option<Result<CacheEntry, WorkError>>;

/// Finds a result: one of this state, else one others share.
async fn find(run: &RunContext, key: &Sha256Digest) -> Result<FoundResult, StoreError> {
    let session = &run.session;
    if !session.reuses {
        return Ok(None);
    }
    if let Some(local) = session.store.reader()?.cache().find(key)? {
        return Ok(Some(local.map_err(|unrecorded| WorkError::environmental(unrecorded.to_string()))));
    }
    let Some(shared) = session.shared.results.get() else { return Ok(None) };
    let shared_result = shared.find(key, session.store.blobs()).await.transpose();
    if let Some(Ok(entry)) = &shared_result {
        session.note_addition(|| StateAddition::Result(Box::new(entry.clone())));
    }
    Ok(shared_result)
}

/// A task with a lookup of its result.
struct KeyedTask {
    task: AttemptTask,
    key: Sha256Digest,
    parts: Value,
}

impl KeyedTask {
    /// Computes the key of a task; `None`: it has none.
    fn of(task: AttemptTask) -> Option<Self> {
        let step = step_of(&task.run, &task.attempt.task_id);
        let (key, parts) = key(&task, &step).ok()?;
        Some(Self { task, key, parts })
    }

    /// Restores the files of a result, and notes the lookup. Returns the result, if it can be used.
    fn take(self, found_entry: FoundResult) -> (CacheLookup, Option<CacheEntry>) {
        let Self { task, key, parts } = self;
        let (run, place) = (&task.run, &task.attempt.task_id);
        if matches!(found_entry, Some(Ok(_))) {
            copies::release(run, place);
        }
        let outcome = found_entry.map(|found_entry| {
            let entry = found_entry?;
            restore(run, &entry, &globs_of(&parts)).map(|()| entry)
        });
        let (entry, lost) = match outcome {
            Some(Ok(entry)) => (Some(entry), None),
            Some(Err(unable)) => (None, Some(format!("a cached result was found, but not used: {unable}"))),
            None => (None, None),
        };
        if let Some(entry) = &entry {
            let is_artifact = |file: &&CachedFile| entry.artifacts.iter().any(|left| left.path == file.path);
            let files: Vec<CachedFile> = entry.files.iter().filter(is_artifact).cloned().collect();
            // A copy that is missing is made later.
            drop(copies::keep(run, &task.attempt, &files));
        }
        let lookup = CacheLookup {
            run: run.run_ref.id.clone(),
            task_id: place.clone(),
            item_key: task.item.as_ref().map(|item| item.key.clone()),
            key,
            hit: entry.is_some(),
            parts: cache::with_miss_reason(parts, lost.as_deref()),
        };
        let globs = globs_of(&lookup.parts);
        // Globs that cannot be read are a mistake that the end of the work tells.
        let earlier = EarlierFiles::find(&run.session.root, &globs).unwrap_or_default();
        run.remember_key(KnownKey { lookup: lookup.clone(), globs, earlier });
        (lookup, entry)
    }
}

/// Notes the key of a task's result, looked up on another host.
pub(crate) fn remember_key(run: &RunContext, lookup: CacheLookup) {
    let (globs, earlier) = (globs_of(&lookup.parts), EarlierFiles::default());
    run.remember_key(KnownKey { lookup, globs, earlier });
}

/// Returns the globs of what a task writes, from the parts of its key.
fn globs_of(parts: &Value) -> Vec<String> {
    let globs = parts.get("files").cloned().map(serde_json::from_value);
    globs.and_then(Result::ok).unwrap_or_default()
}

/// Returns the cache key of a step at a task, and its components.
fn key(task: &AttemptTask, step: &Step) -> Result<(Sha256Digest, Value), WorkError> {
    // A key does not depend on the values of secrets, so it is made without them.
    let hidden = |name: &str| (name.to_owned(), "***".to_owned());
    let hidden: BTreeMap<String, String> = secrets_read(step).into_iter().map(hidden).collect();
    let logical = |error: wf_model::expr::EvalError| WorkError::logical(error.to_string());
    let plan_env = &task.run.plan.parts().env;
    let templates = step.work.templates().into_iter();
    let values: Result<Vec<String>, _> = task
        .with_template_values(&hidden, |known| templates.map(|template| template.render(known)).collect());
    let env = task
        .with_template_values(&hidden, |known| environment::declared_variables(plan_env, &step.env, known))
        .map_err(logical)?;
    let globs = |templates: &[Template]| -> Result<Vec<String>, WorkError> {
        let globs = task.with_template_values(&hidden, |known| {
            templates.iter().map(|glob| files::glob(glob, known)).collect::<Result<_, _>>()
        });
        globs.map_err(logical)
    };
    let cache = step.cache.as_deref();
    let files = globs(cache.map_or(&[], |cache| &cache.outputs))?;
    let cwd = argv::working_dir(task, step)?;
    let session = &task.run.session;
    let confined = session.sandboxes.as_ref().and(step.allow.as_deref());
    let basis = cache::CacheInputs {
        work: definition::of_work(step),
        values: values.map_err(logical)?,
        cwd: cwd.as_deref().unwrap_or("."),
        sandbox: confined.map(|allow| (allow, &step.limits)),
        env,
        params: task.run.params(),
        item: task.item.as_ref().map(|item| &item.value),
        outputs: &step.outputs,
        files: &files,
    };
    let mut inputs = globs(cache.map_or(&[], |cache| &cache.inputs))?;
    // The result of a skill depends on its files.
    if let StepWork::Skill(call) = &step.work {
        inputs.push(format!("{}/**", call.folder));
    }
    cache::key(&basis, &task.run.session.root, &inputs, &SecretMask::default())
}

/// The number of results of a step whose files are not mixed with those of another one.
const KNOWN_RESULTS: u32 = 50;

/// Restores the files of a result. Its artifacts are not among them unless the step says so: those must be there,
/// unchanged.
fn restore(run: &RunContext, entry: &CacheEntry, globs: &[String]) -> Result<(), WorkError> {
    let (root, blobs) = (&run.session.root, run.session.store.blobs());
    let cached_kind = |artifact: &Artifact| {
        entry.files.iter().find(|cached| cached.path == artifact.path).map(|kept| kept.kind)
    };
    let (linked, elsewhere): (Vec<_>, Vec<_>) = entry
        .artifacts
        .iter()
        .filter(|file| cached_kind(file) != Some(CachedFileKind::File))
        .partition(|file| cached_kind(file).is_some());
    refuse_changed(run, &elsewhere)?;
    refuse_mixture(run, entry, globs)?;
    let write = |file: &CachedFile, to: &Path| blobs.restore(&file.digest, to, file.mode);
    cached_files::restore(root, &entry.files, write, |digest| blobs.read(digest))?;
    // What such a link leads to may be of somebody else.
    refuse_changed(run, &linked)
}

/// Refuses a result beside files of another result of its task, which the work would have replaced. They are not removed, since
/// they may be the only copy. What others have put there, such as the cache of a tool, stays.
fn refuse_mixture(run: &RunContext, entry: &CacheEntry, globs: &[String]) -> Result<(), WorkError> {
    let surplus = cached_files::surplus(&run.session.root, globs, &entry.files)?;
    if surplus.is_empty() {
        return Ok(());
    }
    let results = run.session.store.log_reader();
    let results = results.and_then(|reader| reader.cache().latest(&entry.task_id.step, KNOWN_RESULTS));
    let results = results.map_err(|error| WorkError::environmental(error.to_string()))?;
    let others = results.iter().filter(|other| other.task_id == entry.task_id).flat_map(|other| &other.files);
    match others.map(|file| &file.path).find(|path| surplus.contains(*path)) {
        None => Ok(()),
        Some(path) => Err(WorkError::environmental(format!(
            "`{path}` is of another result of the step, and matches `cache.outputs`; remove the file, or narrow `cache.outputs`"
        ))),
    }
}

/// Refuses artifacts that are not there as they were left.
fn refuse_changed(run: &RunContext, artifacts: &[&Artifact]) -> Result<(), WorkError> {
    for file in artifacts {
        let how = match difference(&run.session.root, &file.path, file.digest, &run.session.shared.memo) {
            None => continue,
            Some(EvidenceDifference::Changed) => "changed since",
            Some(EvidenceDifference::Gone) => "is missing",
        };
        let path = &file.path;
        let reason = format!("its artifact `{path}` {how}, and `cache.outputs` does not list it");
        return Err(WorkError::environmental(reason));
    }
    Ok(())
}

/// Stores a result for reuse. A result that cannot be stored does not stop the run.
pub(crate) async fn remember(
    run: Arc<RunContext>,
    task_id: TaskId,
    outputs: JsonObject,
    artifacts: Vec<Artifact>,
) -> UnitResult {
    let Some(KnownKey { lookup, globs, earlier }) = run.known_key(&task_id) else {
        return Ok(None);
    };
    let (ongoing, mask) = (Arc::clone(&run), run.mask().await);
    let stored = blocking(move || {
        refuse_earlier(&ongoing.session.root, &earlier)?;
        collect_files(&ongoing, &globs, &mask)
    });
    let stored = stored.await;
    if let Some(Err(unable)) = &stored {
        report_not_stored(&run, lookup.clone(), &unable.reason).await?;
    }
    if let Some(Ok(files)) = stored {
        let entry = CacheEntry {
            key: lookup.key,
            run: run.run_ref.id.clone(),
            task_id,
            outputs,
            artifacts,
            files,
            created: run.session.clock.now(),
        };
        run.session.note_addition(|| StateAddition::Result(Box::new(entry.clone())));
        run.session.store.cache().put(entry).await?;
    }
    Ok(None)
}

/// Reports why a result could not be stored, and records it for later queries.
async fn report_not_stored(run: &RunContext, lookup: CacheLookup, reason: &str) -> Result<(), StoreError> {
    let reason = format!("{NOT_STORED}{reason}");
    let remark = TaskRemark::NotStored(reason.clone());
    run.session.observe(|observer| observer.remark(&run.run_ref, &lookup.task_id, &remark));
    let parts = cache::with_miss_reason(lookup.parts, Some(&reason));
    let lookup = CacheLookup { parts, ..lookup };
    run.session.note_addition(|| StateAddition::Lookup(Box::new(lookup.clone())));
    run.session.store.cache().note_lookup(lookup).await
}

/// Refuses to store a result beside files that were there before, and that the work has not written: it may have left them
/// as they were, or they may be of another result.
fn refuse_earlier(root: &Path, earlier: &EarlierFiles) -> Result<(), WorkError> {
    match earlier.untouched(root) {
        None => Ok(()),
        Some(path) => Err(WorkError::environmental(format!(
            "`{path}` was there before, and the step has not written it: it may be of another result; remove the file, or narrow `cache.outputs`"
        ))),
    }
}

fn collect_files(
    run: &RunContext,
    globs: &[String],
    mask: &SecretMask,
) -> Result<Vec<CachedFile>, WorkError> {
    let blobs = run.session.store.blobs();
    cached_files::collect(&run.session.root, globs, mask, |content| match content {
        CachedContent::File(path) => blobs.put_file(path),
        CachedContent::Text(text) => blobs.put_bytes(text).map(|digest| (digest, text.len() as u64)),
    })
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}
