//! The comparison of the results a retry would reuse with what their runs left: their inputs, their artifacts, the
//! files the cache restores, the services that they started. A differing result is made again.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use serde_json::Value;

use wf_core::machine::{Artifact, DiscardedResult, ReusedResult};
use wf_exec::{
    cache::{cache_key, digest_of_input, input_changed},
    evidence::{DigestMemo, EvidenceDifference, difference},
};
use wf_model::{Step, StepWork};
use wf_store::{StoreError, StoreReader};

use super::recorded_results::{RecordedResult, RecordedResults};
use crate::{
    reuse::{RepeatChoice, RepeatRequest, RepeatedRun, nested_run},
    session::EngineSession,
};

/// Returns the repeated run, without its changed results.
pub fn unchanged(
    root: &Path,
    reader: &StoreReader,
    repeated_run: RepeatedRun,
) -> Result<RepeatedRun, StoreError> {
    unchanged_with(&DigestMemo::default(), root, reader, repeated_run)
}

/// Returns the changed results of an interrupted run that something still to run may read.
pub fn outdated(
    root: &Path,
    reader: &StoreReader,
    run: &RepeatedRun,
) -> Result<Vec<DiscardedResult>, StoreError> {
    let memo = DigestMemo::default();
    let mut look = ReuseContext::new(root, reader, &memo, run);
    let mut dropped = look.discarded_results(run, true)?;
    dropped.retain(|discarded| run.needs_again(&discarded.step));
    Ok(dropped)
}

/// Does the same as [`unchanged`], with the known digests of large files.
pub(super) fn unchanged_with(
    memo: &DigestMemo,
    root: &Path,
    reader: &StoreReader,
    repeated_run: RepeatedRun,
) -> Result<RepeatedRun, StoreError> {
    let mut look = ReuseContext::new(root, reader, memo, &repeated_run);
    let dropped = look.discarded_results(&repeated_run, true)?;
    let mut past = repeated_run.without_results(dropped);
    // A step that runs again may need a service, and its dependents run again with it.
    loop {
        let ended = look.services(&past)?;
        if ended.is_empty() {
            return Ok(past);
        }
        past = past.without_results(ended);
    }
}

/// The data for the comparison of results.
struct ReuseContext<'a> {
    root: &'a Path,
    reader: &'a StoreReader,
    memo: &'a DigestMemo,
    cleaned: bool,
    records: RecordedResults<'a>,
}

impl<'a> ReuseContext<'a> {
    fn new(
        root: &'a Path,
        reader: &'a StoreReader,
        memo: &'a DigestMemo,
        repeated_run: &RepeatedRun,
    ) -> Self {
        Self {
            root,
            reader,
            memo,
            // Files that a successful run cleaned up are not missed.
            cleaned: repeated_run.succeeded() && repeated_run.plan().has_finally(),
            records: RecordedResults::new(reader),
        }
    }
}

impl ReuseContext<'_> {
    /// Returns the results that would be reused, and have changed. Products are compared in the outermost run alone: what
    /// releases them may be around those nested in it.
    fn discarded_results(
        &mut self,
        repeated_run: &RepeatedRun,
        products: bool,
    ) -> Result<Vec<DiscardedResult>, StoreError> {
        let mut dropped = Vec::new();
        for result in repeated_run.reused_item_results() {
            if let Some(reason) = self.difference_of_result(repeated_run, &result, products)? {
                let ReusedResult { step, item, from, .. } = result;
                dropped.push(DiscardedResult { step, item, reason, from });
            }
        }
        Ok(dropped)
    }

    /// Returns the results whose services ended with their run, and are needed by something running again.
    fn services(&mut self, repeated_run: &RepeatedRun) -> Result<Vec<DiscardedResult>, StoreError> {
        let mut ended = Vec::new();
        for result in repeated_run.reused_item_results() {
            if !repeated_run.needs_again(&result.step) || !self.has_service(repeated_run, &result)? {
                continue;
            }
            let ReusedResult { step, item, from, .. } = result;
            let reason = format!("its background processes exited with run {}", from.short());
            ended.push(DiscardedResult { step, item, reason, from });
        }
        Ok(ended)
    }

    /// True if a service lived on that the work of a result started, or the work of one inside it.
    fn has_service(&mut self, repeated_run: &RepeatedRun, result: &ReusedResult) -> Result<bool, StoreError> {
        if self.records.of_reused(repeated_run, result)?.service {
            return Ok(true);
        }
        let Some(inner) = self.nested_past(repeated_run, result)? else {
            return Ok(false);
        };
        for inner_result in inner.reused_item_results() {
            if self.has_service(&inner, &inner_result)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the difference of a result from its record, if there is one.
    fn difference_of_result(
        &mut self,
        repeated_run: &RepeatedRun,
        result: &ReusedResult,
        products: bool,
    ) -> Result<Option<String>, StoreError> {
        let plan = repeated_run.plan();
        let Some(ix) = plan.find(result.step.as_str()) else {
            return Ok(None);
        };
        let mut left = self.records.of_reused(repeated_run, result)?;
        left.evidence.retain(|file| products || !file.is_product());
        if let Some(reason) = self.difference_of_task(plan.step(ix), result, &left)? {
            return Ok(Some(reason));
        }
        let Some(inner) = self.nested_past(repeated_run, result)? else {
            return Ok(None);
        };
        let first = self.discarded_results(&inner, false)?.into_iter().next();
        Ok(first.map(|discarded| format!("nested `{}`: {}", discarded.step, discarded.reason)))
    }

    /// Returns all results of the run nested in a result, if there is one.
    fn nested_past(
        &self,
        repeated_run: &RepeatedRun,
        result: &ReusedResult,
    ) -> Result<Option<RepeatedRun>, StoreError> {
        let plan = repeated_run.plan();
        let step = plan.find(result.step.as_str()).map(|ix| plan.step(ix));
        let (Some(StepWork::Uses(uses)), Some(run)) = (step.map(|step| &step.work), repeated_run.run_id())
        else {
            return Ok(None);
        };
        let key = result.item.as_deref();
        let Some(run) = nested_run(self.reader, run, &result.step, key)? else {
            return Ok(None);
        };
        let params = self.reader.runs().get(&run)?.params;
        let ask = RepeatRequest {
            run: Some(run),
            earlier_plan: Some(Arc::clone(&uses.plan)),
            current_plan: Arc::clone(&uses.plan),
            choice: RepeatChoice::default(),
        };
        RepeatedRun::from_request(self.reader, ask, &params).map(Some)
    }

    /// Returns the difference in the files a task left, or was made of, if there is one.
    fn difference_of_task(
        &self,
        step: &Step,
        reused: &ReusedResult,
        result: &RecordedResult,
    ) -> Result<Option<String>, StoreError> {
        let noun = |file: &Artifact| match file {
            file if file.is_product() => "product",
            file if result.artifacts.contains(file) => "artifact",
            _ => "input",
        };
        if let Some(cached) = self.difference_of_cached(step, reused, result)? {
            return Ok(Some(cached));
        }
        let pruned = self.reader.artifacts().pruned(result.artifacts.iter().map(|file| file.digest))?;
        if let Some(file) = result.artifacts.iter().find(|file| pruned.contains(&file.digest)) {
            return Ok(Some(format!("its artifact `{}` was removed by `retention`", file.path)));
        }
        let files = result.evidence.iter().chain(&result.artifacts);
        let mut differences = files.filter_map(|file| {
            let how = self.differs(&file.path, file.digest)?;
            Some(format!("its {} `{}` {how}", noun(file), file.path))
        });
        Ok(differences.next())
    }

    /// Does the same with the cache: the declared inputs, and the files it restores.
    fn difference_of_cached(
        &self,
        step: &Step,
        reused: &ReusedResult,
        result: &RecordedResult,
    ) -> Result<Option<String>, StoreError> {
        let Some(cache) = &step.cache else {
            return Ok(None);
        };
        let (step_id, key) = (&reused.step, reused.item.as_deref());
        let cached = self.reader.cache().lookup(&reused.from, step_id, key)?;
        let Some((_, parts)) = cached else {
            let reason = "its inputs were not recorded";
            return Ok(Some(reason.to_owned()));
        };
        let entry = self.reader.cache().find(&cache_key(&parts))?;
        let files = entry.and_then(Result::ok).map(|entry| entry.files);
        let put_back = files.iter().flatten();
        let put_back: BTreeMap<&str, _> = put_back.map(|file| (file.path.as_str(), file.digest)).collect();
        let artifacts = result.artifacts.iter();
        let mut restored = put_back.clone();
        restored.extend(artifacts.map(|file| (file.path.as_str(), file.digest)));
        let own = |path: &str, is: &Value| {
            let restored = restored.get(path).map(ToString::to_string);
            restored.as_deref() == digest_of_input(is)
        };
        if let Some(reason) = input_changed(self.root, &parts, own) {
            return Ok(Some(reason));
        }
        if files.is_none() && !cache.outputs.is_empty() {
            let reason = "its files are not in the cache, so changes cannot be detected";
            return Ok(Some(reason.to_owned()));
        }
        let mut differences = put_back.iter().filter_map(|(path, digest)| {
            let how = self.differs(path, *digest)?;
            Some(format!("its cached file `{path}` {how}"))
        });
        Ok(differences.next())
    }

    fn differs(&self, path: &str, digest: wf_base::digest::Sha256Digest) -> Option<&'static str> {
        match difference(self.root, path, digest, self.memo)? {
            EvidenceDifference::Changed => Some("changed since"),
            EvidenceDifference::Gone => (!self.cleaned).then_some("is missing"),
        }
    }
}

/// Returns the run that is repeated, as far as its results are unchanged.
pub(crate) fn without_changed(
    session: &EngineSession,
    repeated_run: Option<RepeatedRun>,
) -> Result<Option<RepeatedRun>, StoreError> {
    let Some(past) = repeated_run else {
        return Ok(None);
    };
    let reader = session.store.log_reader()?;
    unchanged_with(&session.shared.memo, &session.root, &reader, past).map(Some)
}
