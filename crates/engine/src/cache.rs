//! The reuse of cached results.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use wf_base::digest::Sha256Digest;
use wf_base::redact::SecretMask;
use wf_core::machine::CachedFile;
use wf_core::machine::{Artifact, Attempt, CachedResult, InputKind, StepItem, TaskId};
use wf_exec::evidence::{EvidenceDifference, difference};
use wf_exec::{WorkError, cache, environment, files};
use wf_model::definition;
use wf_model::{JsonObject, Step, StepWork};
use wf_store::{CacheEntry, CacheLookup, StoreError};

use super::attempt_task::AttemptTask;
use super::copies;
use super::current_step::step_of;
use super::dispatch::UnitResult;
use super::run::RunContext;
use super::scope::secrets_read;
use wf_core::observe::TaskRemark;

/// Looks up a result and restores its files. A failed lookup counts as a miss: the work runs, and
/// reports itself what is wrong.
pub(super) async fn restore_cached(
    run: Arc<RunContext>,
    place: TaskId,
    item: Option<StepItem>,
    reads: JsonObject,
) -> UnitResult {
    let attempt = Attempt { place: place.clone(), attempt: 0 };
    let task = AttemptTask::new(Arc::clone(&run), attempt, item, reads);
    let found = blocking(move || find(&task)).await;
    let found = match found {
        Some(Ok(found)) => found,
        Some(Err(error)) => return Err(error.into()),
        None => None,
    };
    if let Some((lookup, _)) = &found {
        run.session.store.cache_note(lookup.clone()).await?;
    }
    let found = found.and_then(|(_, entry)| entry).map(|entry| CachedResult {
        cache_key: entry.key,
        reused_from: entry.run,
        outputs: entry.outputs,
        artifacts: entry.artifacts,
    });
    Ok(Some(InputKind::Looked { place, found }))
}

type CacheLookupResult = Option<(CacheLookup, Option<CacheEntry>)>;

fn find(task: &AttemptTask) -> Result<CacheLookupResult, StoreError> {
    let run = &task.run;
    let step = &*step_of(run, &task.attempt.place);
    let Ok((key, parts, files)) = key(task, step) else {
        return Ok(None);
    };
    let found = if run.session.reuses { run.session.store.reader()?.cache_get(&key)? } else { None };
    let restored = matches!(found, Some(Ok(_)));
    let found = found.map(|found| match found {
        Ok(entry) => restore(run, &entry).map(|()| entry),
        Err(unrecorded) => Err(WorkError::environmental(unrecorded.to_string())),
    });
    let (entry, lost) = match found {
        Some(Ok(entry)) => (Some(entry), None),
        Some(Err(unable)) => {
            (None, Some(format!("a cached result was found, but not used: {}", unable.reason)))
        }
        None => (None, None),
    };
    if restored {
        copies::release(run, &task.attempt.place);
    }
    if let Some(entry) = &entry {
        let is_artifact = |file: &&CachedFile| entry.artifacts.iter().any(|left| left.path == file.path);
        let left: Vec<CachedFile> = entry.files.iter().filter(is_artifact).cloned().collect();
        // A copy that is missing is made later.
        drop(copies::keep(run, &task.attempt, &left));
    }
    let parts = cache::with_miss_reason(parts, lost.as_deref());
    let lookup = CacheLookup {
        run: run.run_ref.id.clone(),
        place: task.attempt.place.clone(),
        item_key: task.item.as_ref().map(|item| item.key.clone()),
        key,
        hit: entry.is_some(),
        parts,
    };
    run.remember_key(lookup.clone(), files);
    Ok(Some((lookup, entry)))
}

/// Returns the cache key of a step at a task, its components, and the globs of what it writes.
fn key(task: &AttemptTask, step: &Step) -> Result<(Sha256Digest, Value, Vec<String>), WorkError> {
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
    let templates = step.cache.iter().flat_map(|cache| &cache.outputs);
    let files: Result<Vec<String>, _> =
        task.with_template_values(&hidden, |known| templates.map(|glob| files::glob(glob, known)).collect());
    let files = files.map_err(logical)?;
    let cwd = task.cwd(step)?;
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
    let mut inputs = step.cache.as_ref().map_or_else(Vec::new, |cache| cache.inputs.clone());
    // The result of a skill depends on its files.
    if let StepWork::Skill(call) = &step.work {
        inputs.push(format!("{}/**", call.folder));
    }
    let (key, parts) = cache::key(&basis, &task.run.session.root, &inputs, &SecretMask::default())?;
    Ok((key, parts, files))
}

/// Restores the files of a result. Its artifacts are not among them unless the step says so: those
/// must be there, unchanged.
fn restore(run: &RunContext, entry: &CacheEntry) -> Result<(), WorkError> {
    let (root, blobs) = (&run.session.root, run.session.store.blobs());
    let back = |file: &&Artifact| entry.files.iter().any(|kept| kept.path == file.path);
    for file in entry.artifacts.iter().filter(|file| !back(file)) {
        let how = match difference(root, &file.path, file.digest, &run.session.shared.memo) {
            None => continue,
            Some(EvidenceDifference::Changed) => "changed since",
            Some(EvidenceDifference::Gone) => "is missing",
        };
        let path = &file.path;
        let reason = format!("its artifact `{path}` {how}, and `cache.outputs` does not list it");
        return Err(WorkError::environmental(reason));
    }
    files::restore(root, &entry.files, |file, to| blobs.restore(&file.digest, to, file.mode))
}

/// Stores a result for reuse. A result that cannot be stored does not stop the run.
pub(super) async fn remember(
    run: Arc<RunContext>,
    place: TaskId,
    outputs: JsonObject,
    artifacts: Vec<Artifact>,
) -> UnitResult {
    let Some((lookup, globs)) = run.known_key(&place) else {
        return Ok(None);
    };
    let (ongoing, mask) = (Arc::clone(&run), run.mask().await);
    let kept = blocking(move || collect_files(&ongoing, &globs, &mask)).await;
    if let Some(Err(unable)) = &kept {
        report_not_stored(&run, lookup.clone(), &unable.reason).await?;
    }
    if let Some(Ok(files)) = kept {
        let entry = CacheEntry {
            key: lookup.key,
            run: run.run_ref.id.clone(),
            place,
            outputs,
            artifacts,
            files,
            created: run.session.clock.now(),
        };
        run.session.store.cache_put(entry).await?;
    }
    Ok(None)
}

/// Reports why a result could not be stored, and records it for later queries.
async fn report_not_stored(run: &RunContext, lookup: CacheLookup, reason: &str) -> Result<(), StoreError> {
    let reason = format!("cannot store its result in the cache: {reason}");
    let remark = TaskRemark::NotStored(reason.clone());
    run.session.observe(|observer| observer.remark(&run.run_ref, &lookup.place, &remark));
    let parts = cache::with_miss_reason(lookup.parts, Some(&reason));
    run.session.store.cache_note(CacheLookup { parts, ..lookup }).await
}

fn collect_files(
    run: &RunContext,
    globs: &[String],
    mask: &SecretMask,
) -> Result<Vec<CachedFile>, WorkError> {
    let blobs = run.session.store.blobs();
    files::artifacts(&run.session.root, globs, mask, |path| blobs.put_file(path))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}
