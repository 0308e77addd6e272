//! Plans of recorded runs, read once for many views.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::recorded::RecordedPlanSource;
use crate::CommandError;
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_model::Plan;
use wf_store::StoreReader;

/// The most kept plans, and the most bytes of their texts. A plan takes some twenty times the
/// memory of its text.
const MAX_PLANS: usize = 64;
const MAX_BYTES: usize = 4_000_000;

/// Plans by the digest of all that decides them: a plan with another text is another entry, and a run whose texts do not
/// match the log is an error as ever, since they are read before each use.
#[derive(Debug, Default)]
pub struct PlanCache(Mutex<Vec<CachedPlan>>);

/// A plan; the last used one is the last of the list.
#[derive(Debug)]
struct CachedPlan {
    digest: Sha256Digest,
    /// The size of its texts, in bytes.
    size: usize,
    plan: Arc<Plan>,
}

impl PlanCache {
    /// Returns the recorded plan of a run; `None` if it is not a valid plan any more.
    pub fn plan(&self, reader: &StoreReader, run: &RunId) -> Result<Option<Arc<Plan>>, CommandError> {
        let Some(source) = RecordedPlanSource::read(reader, run)? else {
            return Ok(None);
        };
        let digest = source.digest();
        if let Some(known_plan) = self.find(&digest) {
            return Ok(Some(known_plan));
        }
        // Nobody waits for a plan that is being read: two views may read it at once.
        let Some(plan) = source.plan() else {
            return Ok(None);
        };
        self.keep(CachedPlan { digest, size: source.size(), plan: Arc::clone(&plan) });
        Ok(Some(plan))
    }

    fn find(&self, digest: &Sha256Digest) -> Option<Arc<Plan>> {
        let mut plans = self.plans();
        let at = plans.iter().position(|plan| plan.digest == *digest)?;
        let cached = plans.remove(at);
        let plan = Arc::clone(&cached.plan);
        plans.push(cached);
        Some(plan)
    }

    /// Keeps a plan, and forgets those unused for longest, as far as the limits require it.
    fn keep(&self, plan: CachedPlan) {
        if plan.size > MAX_BYTES {
            return;
        }
        let mut plans = self.plans();
        plans.retain(|cached| cached.digest != plan.digest);
        plans.push(plan);
        let mut size: usize = plans.iter().map(|plan| plan.size).sum();
        let mut rest = plans.len();
        plans.retain(|plan| {
            let is_kept = rest <= MAX_PLANS && size <= MAX_BYTES;
            if !is_kept {
                (rest, size) = (rest - 1, size - plan.size);
            }
            is_kept
        });
    }

    fn plans(&self) -> MutexGuard<'_, Vec<CachedPlan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{CachedPlan, MAX_BYTES, MAX_PLANS, PlanCache};
    use crate::{RunOptions, specs::load::collect_plan};
    use wf_base::{
        digest::Sha256Digest,
        name::{PlanId, RunId},
        time::{FixedClock, Moment},
    };
    use wf_core::machine::{Event, EventKind};
    use wf_lang::InMemoryFiles;
    use wf_model::JsonObject;
    use wf_store::{EventBatch, FencingToken, NewRun, Store, StoreDurability, StoreReader};

    const PLAN: &str = "---\nkind: plan\nid: hello\nsteps:\n  - {id: a, run: 'true'}\n---\n";

    fn digest(number: usize) -> Sha256Digest {
        Sha256Digest::of_bytes(&number.to_be_bytes())
    }

    fn kept(cache: &PlanCache, numbers: std::ops::Range<usize>) -> Vec<usize> {
        numbers.filter(|number| cache.find(&digest(*number)).is_some()).collect()
    }

    #[test]
    fn those_that_were_not_used_for_longest_give_way() {
        let files = InMemoryFiles([("plan.md".to_owned(), PLAN.as_bytes().to_vec())].into());
        let plan = collect_plan(&files, "plan.md", RunOptions::default()).unwrap();
        let cache = PlanCache::default();
        let keep =
            |number, size| cache.keep(CachedPlan { digest: digest(number), size, plan: Arc::clone(&plan) });
        (0..MAX_PLANS).for_each(|number| keep(number, 1));
        assert!(cache.find(&digest(0)).is_some(), "it is used again");
        keep(MAX_PLANS, 1);
        keep(MAX_PLANS, 1);
        let expected: Vec<usize> = std::iter::once(0).chain(2..=MAX_PLANS).collect();
        assert_eq!(kept(&cache, 0..MAX_PLANS + 1), expected);
        keep(1_000, MAX_BYTES - 2);
        assert_eq!(kept(&cache, 0..1_001), [MAX_PLANS - 1, MAX_PLANS, 1_000], "as many bytes as permitted");
        keep(1_001, MAX_BYTES + 1);
        assert_eq!(kept(&cache, 0..1_002).len(), 3, "one that is too large is read each time");
    }

    fn record(store: &Store, number: u8, text: &str) -> RunId {
        let (run, plan) = (RunId::from_bytes([number; 16]), PlanId::parse("hello").unwrap());
        let new = NewRun {
            plan: plan.clone(),
            path: "plan.md".into(),
            params: JsonObject::new(),
            parent: None,
            retry_of: None,
            session: None,
            sources: vec![("plan.md".into(), text.into())],
            created: Moment::default(),
            config: serde_json::Value::Null,
            claim: None,
        };
        let fact =
            EventKind::RunStarted { logic_version: 1, plan, params: JsonObject::new(), dispatch: None };
        let token = FencingToken { run: run.clone(), number: 0 };
        let events = vec![Event { at: Moment::default(), fact }];
        let batch = EventBatch { run: run.clone(), token, after: Some(0), new: Some(new), events };
        store.append(batch).wait().unwrap();
        run
    }

    #[test]
    fn a_plan_is_read_once_and_a_changed_one_is_another() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(FixedClock(Moment::default()));
        let store = Store::open(dir.path(), StoreDurability::Normal, clock).unwrap();
        let texts = [PLAN, PLAN, &PLAN.replace("true", "false"), "no plan"];
        let runs: Vec<RunId> = (1..).zip(texts).map(|(number, text)| record(&store, number, text)).collect();
        let (reader, cache) = (StoreReader::open(dir.path()).unwrap(), PlanCache::default());
        let plans: Vec<_> = runs.iter().map(|run| cache.plan(&reader, run).unwrap()).collect();
        let [Some(first), Some(same), Some(changed), None] = plans.as_slice() else {
            panic!("{plans:?}");
        };
        assert!(Arc::ptr_eq(first, same), "it is read once");
        assert!(!Arc::ptr_eq(first, changed), "with another text it is another one");
        assert_eq!(cache.plans().len(), 2);
        assert!(cache.plan(&reader, &RunId::from_bytes([9; 16])).unwrap().is_none(), "it was deleted");
    }
}
