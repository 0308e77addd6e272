//! Results used again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::digest::Digest;
use crate::exec::evidence::{Difference, difference};
use crate::exec::{Unable, cache, environment, files};
use crate::machine::{Artifact, Attempt, Cached, Happening, Item, Place};
use crate::mask::Mask;
use crate::model::{Object, Step, Work};
use crate::store::{CacheEntry, CacheLookup, KeptFile, StoreError};

use super::Remark;
use super::dispatch::Report;
use super::run::Ongoing;
use super::scope::{Known, secrets_read};
use super::steps::step_of;
use super::unit::Task;

/// Looks a result up and brings its files back. What cannot be looked up is not there: the work
/// runs, and says itself what is wrong.
pub(super) async fn look(
    run: Arc<Ongoing>,
    place: Place,
    item: Option<Item>,
    reads: Object,
) -> Report {
    let attempt = Attempt {
        place: place.clone(),
        attempt: 0,
    };
    let task = Task::new(Arc::clone(&run), attempt, item, reads);
    let found = blocking(move || find(&task)).await;
    let found = match found {
        Some(Ok(found)) => found,
        Some(Err(error)) => return Err(error.into()),
        None => None,
    };
    if let Some((lookup, _)) = &found {
        run.session.store.cache_note(lookup.clone()).await?;
    }
    let found = found.and_then(|(_, entry)| entry).map(|entry| Cached {
        key: entry.key,
        from: entry.run,
        outputs: entry.outputs,
        artifacts: entry.artifacts,
    });
    Ok(Some(Happening::Looked { place, found }))
}

type Found = Option<(CacheLookup, Option<CacheEntry>)>;

fn find(task: &Task) -> Result<Found, StoreError> {
    let run = &task.run;
    let step = &*step_of(run, &task.attempt.place);
    let Ok((key, parts, files)) = key(task, step) else {
        return Ok(None);
    };
    let entry = if run.session.reuses {
        run.session.store.reader()?.cache_get(&key)?
    } else {
        None
    };
    let (entry, lost) = match entry.map(|entry| restore(run, &entry).map(|()| entry)) {
        Some(Ok(entry)) => (Some(entry), None),
        Some(Err(unable)) => (
            None,
            Some(format!("a result was found and not used: {}", unable.why)),
        ),
        None => (None, None),
    };
    let parts = cache::noted(parts, lost.as_deref());
    let lookup = CacheLookup {
        run: run.this.id.clone(),
        place: task.attempt.place.clone(),
        item_key: task.item.as_ref().map(|item| item.key.clone()),
        key,
        hit: entry.is_some(),
        parts,
    };
    run.remember_key(lookup.clone(), files);
    Ok(Some((lookup, entry)))
}

/// The key of a step's result at a place, what it is made of, and the globs of what it writes.
fn key(task: &Task, step: &Step) -> Result<(Digest, Value, Vec<String>), Unable> {
    // A key does not depend on the values of secrets, so it is made without them.
    let hidden = |name: &str| (name.to_owned(), "***".to_owned());
    let hidden: BTreeMap<String, String> = secrets_read(step).into_iter().map(hidden).collect();
    let logical = |error: crate::expr::EvalError| Unable::logical(error.to_string());
    let plan_env = &task.run.plan.parts().env;
    let work = task
        .known(&hidden, |known| rendered(&step.work, known))
        .map_err(logical)?;
    let env = task
        .known(&hidden, |known| {
            environment::declared(plan_env, &step.env, known)
        })
        .map_err(logical)?;
    let templates = step.cache.iter().flat_map(|cache| &cache.outputs);
    let files: Result<Vec<String>, _> = task.known(&hidden, |known| {
        templates.map(|glob| files::glob(glob, known)).collect()
    });
    let files = files.map_err(logical)?;
    let cwd = task.cwd(step)?;
    let session = &task.run.session;
    let confined = session.around.as_ref().and(step.allow.as_deref());
    let basis = cache::Basis {
        work,
        cwd: cwd.as_deref().unwrap_or("."),
        sandbox: confined.map(|allow| (allow, &step.limits)),
        env,
        params: task.run.params(),
        item: task.item.as_ref().map(|item| &item.value),
        outputs: &step.outputs,
        files: &files,
    };
    let mut inputs = step
        .cache
        .as_ref()
        .map_or_else(Vec::new, |cache| cache.inputs.clone());
    // A result of a skill is that of its files.
    if let Work::Skill(call) = &step.work {
        inputs.push(format!("{}/**", call.folder));
    }
    let (key, parts) = cache::key(&basis, &task.run.session.root, &inputs, &Mask::default())?;
    Ok((key, parts, files))
}

/// What is executed, as it would be executed.
fn rendered(work: &Work, known: &Known<'_>) -> Result<Value, crate::expr::EvalError> {
    Ok(match work {
        Work::Run(script) => json!({ "shell": script.shell, "script": script.text }),
        Work::Exec(argv) => {
            let words: Result<Vec<String>, _> =
                argv.iter().map(|word| word.render(known)).collect();
            json!({ "argv": words? })
        }
        Work::Skill(call) => {
            let argv = call.argv(None, known);
            json!({ "argv": argv.map_err(|bad| bad.to_string()) })
        }
        Work::Http(http) => {
            let body = http
                .body
                .as_ref()
                .map(|body| body.render(known))
                .transpose()?;
            let headers: Result<Vec<_>, _> = (http.headers.iter())
                .map(|(name, value)| Ok(json!([name, value.render(known)?])))
                .collect();
            json!({
                "method": http.method,
                "url": http.url.render(known)?,
                "headers": headers?,
                "body": body,
                "expect": http.expect,
                "outputs": http.outputs,
            })
        }
        Work::Uses(uses) => {
            let with: Result<Vec<_>, _> = (uses.with.iter())
                .map(|(name, value)| Ok(json!([name, value.value(known)?])))
                .collect();
            // All that the plan says and uses, without a form that anything else reads.
            let plan = Digest::of(format!("{:?}", uses.plan).as_bytes());
            json!({ "uses": uses.path, "plan": plan, "with": with? })
        }
        Work::Wait(_) | Work::Approve(_) => Value::Null,
    })
}

/// Brings the files of a result back. Its artifacts are not among them unless the step says so:
/// those must be there, as they were.
fn restore(run: &Ongoing, entry: &CacheEntry) -> Result<(), Unable> {
    let (root, blobs) = (&run.session.root, run.session.store.blobs());
    let back = |file: &&Artifact| entry.files.iter().any(|kept| kept.path == file.path);
    for file in entry.artifacts.iter().filter(|file| !back(file)) {
        let how = match difference(root, (&file.path, file.digest), &run.session.memo) {
            None => continue,
            Some(Difference::Changed) => "changed since",
            Some(Difference::Gone) => "is gone",
        };
        let path = &file.path;
        let why = format!("its artifact `{path}` {how}, and `cache.outputs` does not name it");
        return Err(Unable::environmental(why));
    }
    files::restore(root, &entry.files, |file, to| {
        blobs.restore(&file.digest, to, file.mode)
    })
}

/// Keeps a result for reuse. What cannot be kept is not kept; the run goes on.
pub(super) async fn remember(
    run: Arc<Ongoing>,
    place: Place,
    outputs: Object,
    artifacts: Vec<Artifact>,
) -> Report {
    let Some((asked, globs)) = run.known_key(&place) else {
        return Ok(None);
    };
    let (ongoing, mask) = (Arc::clone(&run), run.mask().await);
    let kept = blocking(move || keep(&ongoing, &globs, &mask)).await;
    if let Some(Err(unable)) = &kept {
        not_stored(&run, asked.clone(), &unable.why).await?;
    }
    if let Some(Ok(files)) = kept {
        let entry = CacheEntry {
            key: asked.key,
            run: run.this.id.clone(),
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

/// Says why a result could not be stored, and notes it for those who ask later.
async fn not_stored(run: &Ongoing, asked: CacheLookup, why: &str) -> Result<(), StoreError> {
    let why = format!("the cache could not store its result: {why}");
    let remark = Remark::NotStored(why.clone());
    run.session
        .observe(|observer| observer.remark(&run.this, &asked.place, &remark));
    let parts = cache::noted(asked.parts, Some(&why));
    run.session
        .store
        .cache_note(CacheLookup { parts, ..asked })
        .await
}

fn keep(run: &Ongoing, globs: &[String], mask: &Mask) -> Result<Vec<KeptFile>, Unable> {
    let blobs = run.session.store.blobs();
    files::cached(&run.session.root, globs, mask, |path| blobs.put_file(path))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}
