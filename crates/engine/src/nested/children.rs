//! The child runs of agents, as runs nested in their attempt.

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::watch;

use wf_base::name::PlanId;
use wf_core::machine::{Attempt, ChildEnd, ChildId, InputKind};
use wf_exec::StopLevel;
use wf_model::{AgentDispatch, ChildPlan, JsonObject, Plan, Step, StepWork};

use super::{
    plan_run::{self, NestedBeginning, NestedPlace},
    running,
};
use crate::{
    files::copies,
    run::{RunContext, attempt_task::step_of},
    session::{EngineError, FinishedRun, UnitResult},
};

/// The child runs worked on, each with the switch ending it.
#[derive(Default)]
pub(crate) struct LiveChildren(BTreeMap<ChildId, watch::Sender<StopLevel>>);

impl LiveChildren {
    /// Adds a child run, and returns what tells it to end.
    pub(crate) fn insert(&mut self, id: ChildId) -> watch::Receiver<StopLevel> {
        let (stop, heard) = watch::channel(StopLevel::No);
        self.0.insert(id, stop);
        heard
    }

    /// Forgets an ended child run.
    pub(crate) fn remove(&mut self, id: &ChildId) {
        self.0.remove(id);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Tells the child runs of an attempt to end, and returns those that were not told before.
    pub(crate) fn stop(&self, attempt: &Attempt, level: StopLevel) -> Vec<&ChildId> {
        let of_attempt = self.0.iter().filter(|(id, _)| id.attempt == *attempt);
        let stopped = of_attempt
            .filter(|(_, stop)| stop.send_if_modified(|now| std::mem::replace(now, level.max(*now)) < level));
        stopped.map(|(id, _)| id).collect()
    }
}

/// A child run to be begun, or to go on with.
pub(crate) struct ChildRun {
    pub(crate) id: ChildId,
    pub(crate) plan: PlanId,
    pub(crate) params: JsonObject,
}

/// Works on a child run to its end. The same id always has the same nested run, so an interrupted one is resumed.
pub(crate) async fn run_child(
    run: Arc<RunContext>,
    child: ChildRun,
    stop: watch::Receiver<StopLevel>,
) -> UnitResult {
    let ChildRun { id, plan, params } = child;
    let listed = listed_plan(&step_of(&run, &id.attempt.task_id), plan.as_str())?;
    let place = NestedPlace::of_child(&run, &id);
    let events = place.recorded_events()?;
    let beginning = NestedBeginning {
        plan: &listed.plan,
        path: &listed.path,
        params,
        sources: Vec::new(),
        repeated_run: None,
        events,
    };
    let (dispatcher, _) = running::prepare(place, beginning)?;
    let context = Arc::clone(&dispatcher.run);
    let work = Box::pin(running::run_limited(dispatcher, None, stop));
    let (finished, timed_out) = work.await?;
    copies::tidy(&context);
    Ok(Some(InputKind::ChildEnded(Box::new(child_end(id, &context, finished, timed_out)))))
}

/// Returns the end of a child run. `timed_out`: a limit ended it.
pub(crate) fn child_end(
    id: ChildId,
    child_run: &RunContext,
    finished: FinishedRun,
    timed_out: bool,
) -> ChildEnd {
    ChildEnd {
        id,
        exit: plan_run::exit_of(&finished, timed_out),
        standing: finished.standing,
        outputs: finished.outputs,
        usage: child_run.usage(),
    }
}

/// Returns the plan with an id an agent may start. The machine names only plans the step lists.
pub(crate) fn listed_plan(step: &Step, plan: &str) -> Result<ChildPlan, EngineError> {
    let dispatch = dispatch_of(step);
    dispatch.and_then(|dispatch| dispatch.plan(plan)).cloned().ok_or(EngineError::Stuck)
}

/// Returns the plan in a file an agent may start.
pub(crate) fn plan_at(step: &Step, path: &str) -> Result<Arc<Plan>, EngineError> {
    dispatch_of(step).and_then(|dispatch| dispatch.plan_at(path)).cloned().ok_or(EngineError::Stuck)
}

fn dispatch_of(step: &Step) -> Option<&AgentDispatch> {
    match &step.work {
        StepWork::Agent(work) => work.dispatch.as_deref(),
        _ => None,
    }
}
