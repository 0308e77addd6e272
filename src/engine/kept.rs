//! Whether the results that a retry would keep are still what their runs left: their inputs, their
//! artifacts, the files that the cache puts back, the services that they started. What is not the
//! same is made again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::exec::cache::{input_changed, key_of};
use crate::exec::evidence::{Difference, Memo, difference};
use crate::machine::{Artifact, Dropped, Event, Fact, Kept, Place};
use crate::model::{Step, Work};
use crate::name::{Name, RunId};
use crate::repeat::{Ask, Choice, Past, nested_run};
use crate::store::{Reader, StoreError};

use super::Session;

/// The run that is repeated, without the results that are not what it left.
pub fn unchanged(root: &Path, reader: &Reader, past: Past) -> Result<Past, StoreError> {
    unchanged_with(&Memo::default(), (root, reader), past)
}

/// The results of a run that was interrupted which are not what it left, and which something that
/// is still to run may read.
pub fn outdated(root: &Path, reader: &Reader, run: &Past) -> Result<Vec<Dropped>, StoreError> {
    let memo = Memo::default();
    let mut look = Look::new((root, reader), &memo, run);
    let mut dropped = look.dropped(run)?;
    dropped.retain(|one| run.needs_again(&one.step));
    Ok(dropped)
}

/// The same, by what is known of large files.
pub(super) fn unchanged_with(
    memo: &Memo,
    place: (&Path, &Reader),
    past: Past,
) -> Result<Past, StoreError> {
    let mut look = Look::new(place, memo, &past);
    let dropped = look.dropped(&past)?;
    let mut past = past.without(dropped);
    // What runs again may need a service, and whatever depends on that runs again with it.
    loop {
        let ended = look.services(&past)?;
        if ended.is_empty() {
            return Ok(past);
        }
        past = past.without(ended);
    }
}

/// What results are compared by.
struct Look<'a> {
    root: &'a Path,
    reader: &'a Reader,
    memo: &'a Memo,
    cleaned: bool,
    works: BTreeMap<RunId, Worked>,
}

/// What a run recorded of the results of its places.
#[derive(Default)]
struct Worked {
    keys: BTreeMap<Name, Vec<String>>,
    left: BTreeMap<Place, Left>,
}

/// What is recorded of a result.
#[derive(Clone, Debug, Default)]
struct Left {
    evidence: Vec<Artifact>,
    artifacts: Vec<Artifact>,
    /// Whether something that the work started lived on.
    service: bool,
}

impl<'a> Look<'a> {
    fn new((root, reader): (&'a Path, &'a Reader), memo: &'a Memo, past: &Past) -> Self {
        Self {
            root,
            reader,
            memo,
            // What a run that succeeded cleaned up is not missed.
            cleaned: past.succeeded() && past.plan().has_finally(),
            works: BTreeMap::new(),
        }
    }
}

impl Look<'_> {
    /// The results that would be kept, and are not what they were.
    fn dropped(&mut self, past: &Past) -> Result<Vec<Dropped>, StoreError> {
        let mut dropped = Vec::new();
        for kept in past.results() {
            if let Some(why) = self.of_result(past, &kept)? {
                let Kept {
                    step, item, from, ..
                } = kept;
                dropped.push(Dropped {
                    step,
                    item,
                    why,
                    from,
                });
            }
        }
        Ok(dropped)
    }

    /// The results whose services ended with their run, and are needed by something that runs
    /// again.
    fn services(&mut self, past: &Past) -> Result<Vec<Dropped>, StoreError> {
        let mut ended = Vec::new();
        for kept in past.results() {
            if !past.needs_again(&kept.step) || !self.has_service(past, &kept)? {
                continue;
            }
            let Kept {
                step, item, from, ..
            } = kept;
            let why = format!("what it left running ended with run {}", from.short());
            ended.push(Dropped {
                step,
                item,
                why,
                from,
            });
        }
        Ok(ended)
    }

    /// Whether something that the work of a result started lived on, or that of one inside of it.
    fn has_service(&mut self, past: &Past, kept: &Kept) -> Result<bool, StoreError> {
        if self.left(kept)?.service {
            return Ok(true);
        }
        let Some(inner) = self.inner(past, kept)? else {
            return Ok(false);
        };
        for kept in inner.results() {
            if self.has_service(&inner, &kept)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The way in which a result is not what it was.
    fn of_result(&mut self, past: &Past, kept: &Kept) -> Result<Option<String>, StoreError> {
        let plan = past.plan();
        let Some(ix) = plan.find(kept.step.as_str()) else {
            return Ok(None);
        };
        let step = plan.step(ix);
        if let Some(why) = self.of_place(step, kept)? {
            return Ok(Some(why));
        }
        let Some(inner) = self.inner(past, kept)? else {
            return Ok(None);
        };
        let first = self.dropped(&inner)?.into_iter().next();
        Ok(first.map(|one| format!("`{}` inside of it: {}", one.step, one.why)))
    }

    /// All results of the run that is nested in a result, if there is one.
    fn inner(&self, past: &Past, kept: &Kept) -> Result<Option<Past>, StoreError> {
        let plan = past.plan();
        let step = plan.find(kept.step.as_str()).map(|ix| plan.step(ix));
        let (Some(Work::Uses(uses)), Some(run)) = (step.map(|step| &step.work), past.run()) else {
            return Ok(None);
        };
        let key = kept.item.as_deref();
        let Some(run) = nested_run(self.reader, run, &kept.step, key)? else {
            return Ok(None);
        };
        let params = self.reader.run(&run)?.params;
        let ask = Ask {
            run: Some(run),
            before: Some(Arc::clone(&uses.plan)),
            now: Arc::clone(&uses.plan),
            choice: Choice::default(),
        };
        Past::of(self.reader, ask, &params).map(Some)
    }

    /// The way in which what the work of a place left, or was made of, is not the same.
    fn of_place(&mut self, step: &Step, kept: &Kept) -> Result<Option<String>, StoreError> {
        let left = self.left(kept)?;
        let artifact = |file: &Artifact| left.artifacts.contains(file);
        if let Some(cached) = self.of_cache(step, kept, &left)? {
            return Ok(Some(cached));
        }
        let files = left.evidence.iter().chain(&left.artifacts);
        let mut found = files.filter_map(|file| {
            let how = self.differs(&file.path, file.digest)?;
            let what = if artifact(file) { "artifact" } else { "input" };
            Some(format!("its {what} `{}` {how}", file.path))
        });
        Ok(found.next())
    }

    /// The same of what the cache knows: the declared inputs, and the files that it puts back.
    fn of_cache(
        &self,
        step: &Step,
        kept: &Kept,
        left: &Left,
    ) -> Result<Option<String>, StoreError> {
        let Some(cache) = &step.cache else {
            return Ok(None);
        };
        let (step_id, key) = (&kept.step, kept.item.as_deref());
        let asked = self.reader.cache_parts(&kept.from, step_id, key)?;
        let Some((_, parts)) = asked else {
            let why = "nothing is recorded of the inputs that it had";
            return Ok(Some(why.to_owned()));
        };
        let entry = self.reader.cache_get(&key_of(&parts))?;
        let files = entry.map(|entry| entry.files);
        let put_back = files.iter().flatten();
        let put_back: BTreeMap<&str, _> = put_back
            .map(|file| (file.path.as_str(), file.digest))
            .collect();
        let artifacts = left.artifacts.iter();
        let mut made = put_back.clone();
        made.extend(artifacts.map(|file| (file.path.as_str(), file.digest)));
        let own = |path: &str, is: &Value| {
            let made = made.get(path).map(ToString::to_string);
            made.as_deref() == is.as_str()
        };
        let mut globs = cache.inputs.clone();
        if let Work::Skill(call) = &step.work {
            globs.push(format!("{}/**", call.folder));
        }
        if let Some(why) = input_changed(self.root, &globs, &parts, own) {
            return Ok(Some(why));
        }
        if files.is_none() && !cache.outputs.is_empty() {
            let why = "the cache has not got its files, so nothing tells whether they changed";
            return Ok(Some(why.to_owned()));
        }
        let mut found = put_back.iter().filter_map(|(path, digest)| {
            let how = self.differs(path, *digest)?;
            Some(format!("its cached file `{path}` {how}"))
        });
        Ok(found.next())
    }

    fn differs(&self, path: &str, digest: crate::digest::Digest) -> Option<&'static str> {
        match difference(self.root, (path, digest), self.memo)? {
            Difference::Changed => Some("changed since"),
            Difference::Gone => (!self.cleaned).then_some("is gone"),
        }
    }

    /// What is recorded of a result by the run that did the work.
    fn left(&mut self, kept: &Kept) -> Result<Left, StoreError> {
        if !self.works.contains_key(&kept.from) {
            let events = self.reader.events(&kept.from, 0)?;
            self.works.insert(kept.from.clone(), Worked::of(&events));
        }
        let worked = self.works.get(&kept.from);
        Ok(worked
            .map(|worked| worked.of_result(kept))
            .unwrap_or_default())
    }
}

impl Worked {
    fn of(events: &[(u64, Event)]) -> Self {
        let mut worked = Self::default();
        for (_, event) in events {
            worked.take(&event.fact);
        }
        worked
    }

    fn take(&mut self, fact: &Fact) {
        let place = |place: &Place| place.clone();
        match fact {
            Fact::StepExpanded { step, items } => {
                let keys = items.iter().map(|item| item.key.clone()).collect();
                self.keys.insert(step.clone(), keys);
            }
            Fact::AttemptStarted(attempt) => {
                self.left.insert(place(&attempt.place), Left::default());
            }
            Fact::CacheHit { place, found } => {
                let left = Left {
                    artifacts: found.artifacts.clone(),
                    ..Left::default()
                };
                self.left.insert(place.clone(), left);
            }
            Fact::AttemptEnded {
                attempt,
                artifacts,
                service,
                ..
            } => {
                let left = self.left.entry(place(&attempt.place)).or_default();
                left.artifacts.clone_from(artifacts);
                left.service = *service;
            }
            Fact::EvidenceTaken { attempt, files } => {
                let left = self.left.entry(place(&attempt.place)).or_default();
                left.evidence.clone_from(files);
            }
            _ => {}
        }
    }

    fn of_result(&self, kept: &Kept) -> Left {
        let keys = self.keys.get(&kept.step).into_iter().flatten();
        let item = (kept.item.as_ref()).and_then(|key| keys.zip(0..).find(|(own, _)| *own == key));
        let place = Place {
            step: kept.step.clone(),
            item: item.map(|(_, number)| number),
        };
        self.left.get(&place).cloned().unwrap_or_default()
    }
}

impl Session {
    /// The run that is repeated, as far as its results are still what they were.
    pub(super) fn checked(&self, past: Option<Past>) -> Result<Option<Past>, StoreError> {
        let Some(past) = past else {
            return Ok(None);
        };
        let reader = self.store.log_reader()?;
        unchanged_with(&self.memo, (&self.root, &reader), past).map(Some)
    }
}
