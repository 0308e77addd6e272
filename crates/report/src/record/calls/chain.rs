use std::collections::BTreeMap;

use serde::Serialize;

use super::{AgentCalls, AskedCall};
use crate::record::{ModelCaller, NestedRunRecord};
use wf_base::name::{CallAsker, Name};
use wf_core::machine::{ChildId, TaskId};
use wf_model::Plan;

/// The model calls that had to be made one after the other (artoo v0.8, section 10): those on the longest chain of steps
/// waiting for each other, and those of the run itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallChain {
    pub callers: BTreeMap<ModelCaller, usize>,
    /// The calls of each step that had to be made one after the other, whether it is on the chain or not.
    pub steps: BTreeMap<Name, usize>,
}

/// The calls of a run, for its chain.
#[derive(Clone, Copy, Debug)]
pub struct CallSources<'a> {
    pub agents: &'a [AgentCalls],
    /// The calls of its judges, gates and planners.
    pub asked: &'a [AskedCall],
    pub nested: &'a [NestedRunRecord],
}

/// A number of calls by caller.
#[derive(Clone, Debug, Default)]
struct CallerCounts(BTreeMap<ModelCaller, usize>);

impl CallSources<'_> {
    /// True if there are no calls.
    pub fn is_empty(&self) -> bool {
        let is_silent = |nested: &NestedRunRecord| nested.record.call_chain.is_empty();
        self.agents.is_empty() && self.asked.is_empty() && self.nested.iter().all(is_silent)
    }
}

impl CallChain {
    /// Returns the chain of a run.
    pub fn from_plan(plan: &Plan, sources: CallSources<'_>) -> Self {
        let (mut of_run, mut of_steps) = (CallerCounts::default(), BTreeMap::<&Name, CallerCounts>::new());
        for (task, counts) in tasks(sources) {
            match task.as_ref().and_then(|task| plan.find(task.step.as_str())) {
                None => of_run.add(&counts),
                // The items of a repeated step work side by side.
                Some(step) => of_steps.entry(&plan.step(step).id).or_default().keep_longer(counts),
            }
        }
        let mut longest: BTreeMap<&Name, CallerCounts> = BTreeMap::new();
        for ix in plan.order() {
            let step = plan.step(ix);
            let mut sum = of_steps.get(&step.id).cloned().unwrap_or_default();
            let before = step.depends_on.iter().filter_map(|on| longest.get(&plan.step(*on).id));
            if let Some(before) = before.max_by_key(|counts| counts.total()) {
                sum.add(before);
            }
            longest.insert(&step.id, sum);
        }
        let mut caller_counts = longest.into_values().max_by_key(CallerCounts::total).unwrap_or_default();
        caller_counts.add(&of_run);
        let steps = of_steps.into_iter().map(|(step, counts)| (step.clone(), counts.total()));
        Self { callers: caller_counts.0, steps: steps.collect() }
    }

    pub fn total(&self) -> usize {
        self.callers.values().sum()
    }

    /// True if there were none.
    pub fn is_empty(&self) -> bool {
        self.callers.is_empty()
    }
}

/// Returns the calls of each task, one after the other, with those of the runs nested in it; `None`: of the run.
fn tasks(sources: CallSources<'_>) -> BTreeMap<Option<TaskId>, CallerCounts> {
    let mut tasks: BTreeMap<Option<TaskId>, CallerCounts> = BTreeMap::new();
    for calls in sources.agents {
        let task = tasks.entry(Some(calls.attempt.task_id.clone())).or_default();
        task.add_calls(ModelCaller::Agents, calls.calls.len());
    }
    for call in sources.asked {
        let caller = match call.asker {
            CallAsker::Check(_) => ModelCaller::Judges,
            CallAsker::Gate(_) => ModelCaller::Gates,
            CallAsker::Planner => ModelCaller::Planners,
            CallAsker::Compactor => ModelCaller::Compactor,
        };
        tasks.entry(call.task_id.clone()).or_default().add_calls(caller, 1);
    }
    // The child runs of an attempt work side by side.
    let mut children: BTreeMap<(TaskId, u32), CallerCounts> = BTreeMap::new();
    for nested in sources.nested {
        let inside = CallerCounts(nested.record.call_chain.callers.clone());
        if let Ok(child) = nested.attempt.parse::<ChildId>() {
            children.entry((child.attempt.task_id, child.attempt.attempt)).or_default().keep_longer(inside);
        } else if let Some(task) = nested.attempt.rsplit_once('#').and_then(|(task, _)| task.parse().ok()) {
            tasks.entry(Some(task)).or_default().add(&inside);
        }
    }
    for ((task, _), inside) in children {
        tasks.entry(Some(task)).or_default().add(&inside);
    }
    tasks
}

impl CallerCounts {
    fn total(&self) -> usize {
        self.0.values().sum()
    }

    fn add_calls(&mut self, caller: ModelCaller, calls: usize) {
        if calls > 0 {
            *self.0.entry(caller).or_default() += calls;
        }
    }

    fn add(&mut self, other: &Self) {
        for (caller, calls) in &other.0 {
            self.add_calls(*caller, *calls);
        }
    }

    fn keep_longer(&mut self, other: Self) {
        if other.total() > self.total() {
            *self = other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CallChain, CallSources};
    use crate::record::{
        AskedCall, ModelCaller, NestedRunRecord,
        tests::sample::{name, plan, record},
    };
    use wf_base::{digest::Sha256Digest, name::CallAsker};
    use wf_core::machine::{AskedModel, CallEffort, TaskId};

    fn call(step: Option<&str>, item: Option<u32>, asker: CallAsker) -> AskedCall {
        AskedCall {
            address: String::new(),
            task_id: step.map(|step| TaskId { step: name(step), item }),
            attempt: None,
            asker,
            number: 1,
            record: AskedModel {
                model: name("m"),
                replied_by: None,
                request: Sha256Digest::of_bytes(b""),
                reply: None,
                failure: None,
                effort: CallEffort::of_one_request(),
            },
        }
    }

    fn nested(attempt: &str, judges: usize) -> NestedRunRecord {
        let mut inside = record();
        inside.call_chain.callers.insert(ModelCaller::Judges, judges);
        NestedRunRecord { attempt: attempt.into(), record: inside }
    }

    #[test]
    fn calls_of_steps_that_wait_for_each_other_add_up() {
        let judge = || CallAsker::Check(name("tests"));
        let asked = [
            // The items of `fetch` work side by side: two calls, not three.
            call(Some("fetch"), Some(0), judge()),
            call(Some("fetch"), Some(1), judge()),
            call(Some("fetch"), Some(1), CallAsker::Planner),
            call(Some("build"), None, judge()),
            call(None, None, CallAsker::Planner),
        ];
        // One attempt of `publish` is a nested run, and two child runs of another one work side by side.
        let nested = [nested("publish#1", 4), nested("publish/a#2", 5), nested("publish/b#2", 3)];
        let chain =
            CallChain::from_plan(&plan(), CallSources { agents: &[], asked: &asked, nested: &nested });
        assert_eq!(chain.total(), 2 + 1 + 4 + 5 + 1);
        assert_eq!(chain.callers[&ModelCaller::Planners], 2);
        assert_eq!(chain.callers[&ModelCaller::Judges], 11);
        let steps = ["fetch", "build", "publish"].map(|step| chain.steps[&name(step)]);
        assert_eq!(steps, [2, 1, 9]);
    }

    #[test]
    fn a_run_without_calls_has_no_chain() {
        let sources = CallSources { agents: &[], asked: &[], nested: &[] };
        assert!(sources.is_empty() && CallChain::from_plan(&plan(), sources).is_empty());
        let nested = [nested("build#1", 1)];
        assert!(!CallSources { nested: &nested, ..sources }.is_empty());
    }
}
