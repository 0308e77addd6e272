//! A run that is repeated, with the fate of each of its steps, and the runs nested in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use wf_base::name::{Name, RunId};
use wf_core::machine::{DeselectedStep, DiscardedResult, Event, EventKind, ReusedResult, StepState};
use wf_model::{JsonObject, NestedPlan, Plan, StepIx, StepWork, definition::same_plan_meaning};
use wf_store::{RunRow, RunState, StoreError, StoreReader};

use super::{
    RepeatChoice, StepFate, StepRerun,
    decide::{self, RepeatContext},
    reads::{ParamReadAnswer, ParamReaders},
    rows::{RecordedSteps, nested_run, reused_result},
};

/// A run that is repeated, and the fate of each of its steps.
#[derive(Clone, Debug)]
pub struct RepeatedRun {
    run: Option<RunId>,
    earlier_plan: Option<Arc<Plan>>,
    current_plan: Arc<Plan>,
    choice: RepeatChoice,
    earlier_choice: RepeatChoice,
    changed: BTreeSet<Name>,
    steps: RecordedSteps,
    partial: BTreeSet<(Name, Option<String>)>,
    is_nested: bool,
    run_succeeded: bool,
    succeeded: bool,
    discarded_results: Vec<DiscardedResult>,
    fates: Vec<StepFate>,
}

/// A request to repeat a run.
#[derive(Clone, Debug)]
pub struct RepeatRequest {
    /// The run; `None` if it was forgotten, or never existed.
    pub run: Option<RunId>,
    /// The plan it ran by; `None` if it cannot be read any more: nothing is reused then.
    pub earlier_plan: Option<Arc<Plan>>,
    /// The plan to run by now.
    pub current_plan: Arc<Plan>,
    /// The user's choice.
    pub choice: RepeatChoice,
}

/// The values of the parameters of a nested plan, as far as they are known.
enum NestedParams<'a> {
    Values(&'a JsonObject),
    /// Only the parameters with a possible difference, since they read something changed.
    Unknown(BTreeSet<Name>),
}

impl RepeatedRun {
    /// Examines a run repeated with these parameters.
    pub fn from_request(
        reader: &StoreReader,
        request: RepeatRequest,
        params: &JsonObject,
    ) -> Result<Self, StoreError> {
        let earlier = match &request.run {
            Some(run) => recorded_choice(reader, run)?,
            None => RepeatChoice::default(),
        };
        Self::examine(reader, request, earlier, &NestedParams::Values(params))
    }

    /// Examines the run nested in a step, or in an item of it, and repeated with these parameters; without them, as far
    /// as it can be decided in advance. `None` if the step uses no plan.
    pub fn nested(
        &self,
        reader: &StoreReader,
        step: &Name,
        key: Option<&str>,
        params: Option<&JsonObject>,
    ) -> Result<Option<Self>, StoreError> {
        let Some(used) = used_plan(&self.current_plan, step) else {
            return Ok(None);
        };
        let run = match &self.run {
            Some(run) => nested_run(reader, run, step, key)?,
            None => None,
        };
        let mut choice = self.choice.nested_choice(step, key);
        choice.all |= !self.keeps_inside(step, key);
        let before = self.earlier_plan.as_ref().and_then(|plan| used_plan(plan, step));
        let values = match params {
            Some(params) => NestedParams::Values(params),
            None => NestedParams::Unknown(self.uncertain_params(used)),
        };
        let ask = RepeatRequest {
            run,
            earlier_plan: before.map(|uses| uses.plan.clone()),
            current_plan: used.plan.clone(),
            choice,
        };
        let earlier = self.earlier_choice.nested_choice(step, key);
        Self::examine(reader, ask, earlier, &values).map(Some)
    }

    fn examine(
        reader: &StoreReader,
        request: RepeatRequest,
        earlier_choice: RepeatChoice,
        nested_params: &NestedParams<'_>,
    ) -> Result<Self, StoreError> {
        let RepeatRequest { run, earlier_plan: before, current_plan: now, choice } = request;
        let row = run.as_ref().map(|run| known(reader, run)).transpose()?;
        let row = row.flatten();
        let rows = match &row {
            Some(row) => RecordedSteps::read_steps(reader, &row.id)?,
            None => RecordedSteps::default(),
        };
        let changed = match (nested_params, &row) {
            (NestedParams::Values(params), Some(row)) => differing_names(&row.params, params),
            (NestedParams::Unknown(names), _) => names.clone(),
            (_, None) => BTreeSet::new(),
        };
        let partial = match &row {
            Some(row) if earlier_choice.narrow => rows.partial(reader, &row.id, &earlier_choice)?,
            _ => BTreeSet::new(),
        };
        let good = row.as_ref().zip(before.as_deref()).is_some_and(|(row, before)| was_good(row, before));
        let past = Self {
            run,
            earlier_plan: before,
            current_plan: now,
            choice,
            earlier_choice,
            changed,
            steps: rows,
            partial,
            is_nested: row.as_ref().is_some_and(|row| row.parent.is_some()),
            run_succeeded: good,
            succeeded: row.is_some_and(|row| succeeded(&row)),
            discarded_results: Vec::new(),
            fates: Vec::new(),
        };
        Ok(past.with_fates())
    }

    /// Decides the fate of each step by all that is known.
    fn with_fates(mut self) -> Self {
        let dropped = self.discarded_results.iter();
        let dropped = dropped
            .map(|discarded| ((discarded.step.clone(), discarded.item.clone()), discarded.reason.clone()));
        let dropped: BTreeMap<_, _> = dropped.collect();
        self.fates = decide::fates(&RepeatContext {
            earlier_plan: self.earlier_plan.as_deref(),
            current_plan: &self.current_plan,
            choice: &self.choice,
            narrow: self.earlier_choice.narrow,
            partial: &self.partial,
            changed: &self.changed,
            steps: &self.steps,
            dropped: &dropped,
            run_succeeded: self.run_succeeded,
        });
        self
    }

    /// Drops some results, which are not as their run left them, and decides anew.
    #[must_use]
    pub fn without_results(mut self, discarded_results: Vec<DiscardedResult>) -> Self {
        if discarded_results.is_empty() {
            return self;
        }
        self.discarded_results.extend(discarded_results);
        self.with_fates()
    }

    /// Decides as it was decided when a run began, by the events of that run.
    #[must_use]
    pub fn as_recorded<'a>(self, events: impl IntoIterator<Item = &'a Event>) -> Self {
        let dropped = events.into_iter().filter_map(|event| match &event.fact {
            EventKind::ResultDropped { step, item_key: key, reason, reused_from: from } => {
                Some(DiscardedResult {
                    step: step.clone(),
                    item: key.clone(),
                    reason: reason.clone(),
                    from: from.clone(),
                })
            }
            _ => None,
        });
        self.without_results(dropped.collect())
    }

    /// True if something running again may need a process a step left running: a dependant, the plan's own criteria, or
    /// a run using this plan.
    pub fn needs_again(&self, step: &Name) -> bool {
        let Some(ix) = self.current_plan.find(step.as_str()) else {
            return false;
        };
        let has_checks = !self.current_plan.parts().verify.is_empty() && !self.is_done();
        let mut next: Vec<StepIx> = self.current_plan.dependents(ix).to_vec();
        let mut visited = BTreeSet::new();
        while let Some(ix) = next.pop() {
            if matches!(self.fates.get(ix.index()), Some(StepFate::Rerun(_))) {
                return true;
            }
            if visited.insert(ix.index()) {
                next.extend(self.current_plan.dependents(ix));
            }
        }
        has_checks || self.is_nested
    }

    pub fn dropped(&self) -> &[DiscardedResult] {
        &self.discarded_results
    }

    pub fn succeeded(&self) -> bool {
        self.succeeded
    }

    /// Returns the run; `None` if no such run was nested there.
    pub fn run_id(&self) -> Option<&RunId> {
        self.run.as_ref()
    }

    /// Returns the plan to run by now.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.current_plan
    }

    /// Returns the fates of the steps of the plan, in their order.
    pub fn fates(&self) -> impl Iterator<Item = (&Name, &StepFate)> {
        let names = self.current_plan.steps().iter().map(|step| &step.id);
        names.zip(&self.fates)
    }

    pub fn fate(&self, step: &Name) -> Option<&StepFate> {
        let ix = self.current_plan.find(step.as_str())?;
        self.fates.get(ix.index())
    }

    /// True if the run succeeded, and none of it runs again.
    pub fn is_done(&self) -> bool {
        let rests = |fate: &StepFate| matches!(fate, StepFate::Reused | StepFate::Settled);
        let same = |earlier_plan: &Arc<Plan>| same_plan_meaning(earlier_plan, &self.current_plan);
        self.succeeded
            && self.changed.is_empty()
            && self.fates.iter().all(rests)
            && self.earlier_plan.as_ref().is_some_and(same)
    }

    /// Returns the reused results, in plan order.
    pub fn reused_results(&self) -> Vec<ReusedResult> {
        let Some(run) = &self.run else {
            return Vec::new();
        };
        let mut results = Vec::new();
        for (step, fate) in self.fates() {
            match fate {
                StepFate::Reused => results.extend(self.steps.step(step).map(|row| reused_result(row, run))),
                StepFate::Rerun(StepRerun { reused_items: keys, .. }) => {
                    let items = self.steps.items(step).iter();
                    let own = items.filter(|row| {
                        let key = row.item_key.as_ref();
                        key.is_some_and(|key| keys.contains(key))
                    });
                    results.extend(own.map(|row| reused_result(row, run)));
                }
                StepFate::Settled | StepFate::Deselected => {}
            }
        }
        results
    }

    /// Returns the reused results, each item by itself, in plan order.
    pub fn reused_item_results(&self) -> Vec<ReusedResult> {
        let Some(run) = &self.run else {
            return Vec::new();
        };
        let whole = self.reused_results().into_iter();
        let each = whole.flat_map(|reused| match (&reused.item, self.steps.items(&reused.step)) {
            (None, items @ [_, ..]) => {
                let good = items.iter().filter(|row| row.state == StepState::Succeeded);
                good.map(|row| reused_result(row, run)).collect()
            }
            _ => vec![reused],
        });
        each.collect()
    }

    /// Returns the steps and items left out by choice, in plan order.
    pub fn deselected_steps(&self) -> Vec<DeselectedStep> {
        let left = self.fates().filter_map(|(step, fate)| {
            let items = match fate {
                StepFate::Deselected => Vec::new(),
                StepFate::Rerun(StepRerun { except_items: Some(items), .. }) => items.clone(),
                _ => return None,
            };
            let step = step.clone();
            Some(DeselectedStep { step, except_items: items })
        });
        left.collect()
    }

    /// Returns the items of a step running again as far as is known: keys, or none if it is not repeated.
    pub fn repeated_items(&self, step: &Name) -> Vec<Option<String>> {
        let items = self.steps.items(step);
        let Some(StepFate::Rerun(again)) = self.fate(step) else {
            return Vec::new();
        };
        if items.is_empty() {
            return vec![None];
        }
        let keys = items.iter().filter_map(|row| row.item_key.clone());
        let open = |key: &String| {
            let items = again.except_items.as_ref();
            let chosen = items.is_none_or(|items| items.contains(key));
            chosen && !again.reused_items.contains(key)
        };
        keys.filter(open).map(Some).collect()
    }

    /// True if successful steps in the run nested in a task are reused.
    fn keeps_inside(&self, step: &Name, key: Option<&str>) -> bool {
        let inside = matches!(self.fate(step), Some(StepFate::Rerun(StepRerun { reuses_nested: true, .. })));
        inside && key.is_none_or(|key| !self.choice.items(step).contains(key))
    }

    /// Returns the parameters of a nested plan reading something that changed.
    fn uncertain_params(&self, nested_plan: &NestedPlan) -> BTreeSet<Name> {
        let reads = |reads: &ParamReaders<'_>| {
            let mut changed = self.changed.iter();
            changed.any(|name| reads.reading(name) == ParamReadAnswer::Yes)
        };
        let with = nested_plan.with.iter();
        with.filter(|(_, value)| reads(&ParamReaders::of_template(value)))
            .map(|(name, _)| name.clone())
            .collect()
    }
}

fn used_plan<'a>(plan: &'a Plan, step: &Name) -> Option<&'a NestedPlan> {
    let ix = plan.find(step.as_str())?;
    match &plan.step(ix).work {
        StepWork::Uses(uses) => Some(uses),
        _ => None,
    }
}

/// Returns the choice recorded when a run began, if it repeats another and is still known.
fn recorded_choice(reader: &StoreReader, run: &RunId) -> Result<RepeatChoice, StoreError> {
    match reader.runs().config(run) {
        Ok(config) => Ok(RepeatChoice::recorded(&config)),
        Err(StoreError::UnknownRun(_)) => Ok(RepeatChoice::default()),
        Err(error) => Err(error),
    }
}

/// Returns a run, unless it was forgotten.
fn known(reader: &StoreReader, run: &RunId) -> Result<Option<RunRow>, StoreError> {
    match reader.runs().get(run) {
        Ok(row) => Ok(Some(row)),
        Err(StoreError::UnknownRun(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn differing_names(then: &JsonObject, now: &JsonObject) -> BTreeSet<Name> {
    let names = then.keys().chain(now.keys());
    names.filter(|name| then.get(*name) != now.get(*name)).filter_map(|name| Name::parse(name).ok()).collect()
}

fn succeeded(row: &RunRow) -> bool {
    row.state == RunState::Ended(wf_core::machine::RunOutcome::Succeeded)
}

/// True if all went well except perhaps a `finally` step.
fn was_good(row: &RunRow, earlier_plan: &Plan) -> bool {
    let last = |name: &Name| {
        let ix = earlier_plan.find(name.as_str());
        ix.is_some_and(|ix| earlier_plan.is_finally(ix))
    };
    let cancelled = row.state == RunState::Ended(wf_core::machine::RunOutcome::Cancelled);
    succeeded(row) || !cancelled && row.failed_step.as_ref().is_some_and(last)
}
