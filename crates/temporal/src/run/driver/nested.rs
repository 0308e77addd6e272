//! The runs nested in the one a driver drives: how they begin, and how they end.
//!
//! ```text
//! Start of a step that runs a plan ──▶ work: which run begins? ──▶ a machine of its own
//!                                                                       │ its work is work like any other
//! the end of the attempt ◀── work: take over its files ◀── its end ─────┘
//! ```
//!
//! A child run an agent starts is one of them: it begins with `StartChild`, and its end is no attempt's. Several may be
//! under way for one attempt, beside the work of the agent.

use std::sync::Arc;

use wf_base::name::RunId;
use wf_core::machine::{Attempt, Effect, InputKind};
use wf_engine::{NestedRun, STOP_REASON};
use wf_exec::StopLevel;
use wf_model::{Plan, StepWork};

use super::{RunDriver, RunInput};
use crate::{
    messages::{
        command::{DriverCommand, RunTimer},
        order::{Job, NestedRunBeginning, WorkWish},
    },
    run::{
        driven_run::{DrivenRun, RunNesting},
        open_work::{OpenWork, WorkPart, step_of},
        plan::generated_plan,
        progress::{DriverError, StoredRun},
    },
};

impl RunDriver {
    /// Begins a nested run. `wish` is that about the attempt by now.
    pub(super) fn begin_nested(
        &mut self,
        beginning: NestedRunBeginning,
        effect: Effect,
        wish: WorkWish,
    ) -> Result<(), DriverError> {
        let NestedRunBeginning { nested, input } = beginning;
        let run = nested.id();
        let mut driven = DrivenRun::nested(self.plan_of(&nested)?, &nested);
        driven.nesting = Some(RunNesting::new(nested, effect));
        if self.is_draining {
            driven.machine.drain();
        }
        self.runs.insert(run.clone(), driven);
        self.inputs.push_back(RunInput { run: run.clone(), kind: input });
        match wish {
            WorkWish::GoOn | WorkWish::Leave => {}
            WorkWish::End => self.stop_nested(&run, StopLevel::Gently),
            WorkWish::Kill => self.stop_nested(&run, StopLevel::AtOnce),
        }
        Ok(())
    }

    /// Returns the runs nested in an attempt: the one that it is, or those its agent started.
    pub(super) fn nested_in(&self, run: &RunId, attempt: &Attempt) -> Vec<RunId> {
        let is_its = |nested: &NestedRun| nested.outer == *run && nested.attempt == *attempt;
        let nestings = self.runs.iter().filter_map(|(id, driven)| Some((id, driven.nesting.as_ref()?)));
        let its = nestings.filter(|(_, nesting)| is_its(&nesting.nested));
        its.map(|(id, _)| id.clone()).collect()
    }

    /// Tells a nested run to end, once for each degree.
    pub(super) fn stop_nested(&mut self, run: &RunId, level: StopLevel) {
        for degree in [StopLevel::Gently, StopLevel::AtOnce] {
            let Some(driven) = self.runs.get_mut(run) else { return };
            if driven.stopped < degree && degree <= level && driven.machine.outcome().is_none() {
                driven.stopped = degree;
                let kind = InputKind::Cancel { reason: STOP_REASON.to_owned() };
                self.inputs.push_back(RunInput { run: run.clone(), kind });
            }
        }
    }

    /// Sets the timer for the end of the time the step of a nested run has, counted from the beginning of the run.
    /// Child runs of an agent have no time of their own: it waits for them as long as it takes.
    pub(super) fn limit(&mut self, run: &RunId) {
        let nesting = self.runs.get(run).and_then(|driven| driven.nesting.as_ref());
        let nesting = nesting.filter(|nesting| nesting.nested.child.is_none());
        let Some((nesting, began)) = nesting.and_then(|nesting| Some((nesting, nesting.began?))) else {
            return;
        };
        let outer = self.runs.get(&nesting.nested.outer);
        let step = outer.and_then(|outer| step_of(&outer.machine, &nesting.nested.attempt));
        if let Some(timeout) = step.and_then(|step| step.timeout) {
            let timer = RunTimer { run: run.clone(), timer: None };
            self.commands.push(DriverCommand::Wake { at: began.after(timeout), timer });
        }
    }

    /// Ends a nested run after its time.
    pub(super) fn on_limit(&mut self, run: &RunId) {
        let nesting = self.runs.get_mut(run).and_then(|driven| driven.nesting.as_mut());
        let Some(nesting) = nesting.filter(|nesting| !nesting.ends) else { return };
        nesting.timed_out = true;
        self.stop_nested(run, StopLevel::Gently);
    }

    /// Has the attempts end whose runs are over, and the child runs.
    pub(super) fn end_nested_runs(&mut self) -> Result<(), DriverError> {
        let is_over = |(_, driven): &(&RunId, &DrivenRun)| {
            let ends = driven.nesting.as_ref().is_none_or(|nesting| nesting.ends);
            !ends && driven.machine.outcome().is_some()
        };
        let over = self.runs.iter().filter(is_over).map(|(run, _)| run);
        let over: Vec<RunId> = over.filter(|run| !self.is_worked_on(run)).cloned().collect();
        for run in over {
            self.end_nested(run)?;
        }
        Ok(())
    }

    /// True if work for a run is under way, or a run nested in it.
    fn is_worked_on(&self, run: &RunId) -> bool {
        let mut nested = self.runs.values().filter_map(|driven| driven.nesting.as_ref());
        self.open.values().any(|open| open.run == *run) || nested.any(|nesting| nesting.nested.outer == *run)
    }

    fn end_nested(&mut self, run: RunId) -> Result<(), DriverError> {
        let Some(nesting) = self.runs.get_mut(&run).and_then(|driven| driven.nesting.as_mut()) else {
            return Ok(());
        };
        nesting.ends = true;
        let RunNesting { nested, effect, timed_out, .. } = nesting.clone();
        let Some(outer) = self.runs.get(&nested.outer) else { return Ok(()) };
        let open = OpenWork {
            attempt: Some(nested.attempt.clone()),
            child: nested.child_id(),
            part: WorkPart::EndNested(run),
            ..OpenWork::for_run(&nested.outer, &outer.machine)
        };
        let job = Job::EndNested { effect: Box::new(effect), timed_out };
        self.order_work(format!("end {}", nested.attempt_path()), open, None, &job)
    }

    /// True if nothing happens to a run until a person decides, also not to those nested in it.
    pub(super) fn only_waits_for_people(&self, run: &RunId) -> bool {
        let Some(driven) = self.runs.get(run) else { return false };
        let is_busy = |open: &OpenWork| open.run == *run && matches!(open.part, WorkPart::Other);
        let nestings =
            self.runs.iter().filter_map(|(id, driven)| Some((id, &driven.nesting.as_ref()?.nested)));
        let waiting = nestings.filter(|(id, nested)| nested.outer == *run && self.only_waits_for_people(id));
        let waiting = waiting.map(|(_, nested)| nested.attempt_path()).collect();
        !self.open.values().any(is_busy)
            && driven.machine.state().only_waits_for_people(driven.machine.plan(), &waiting)
    }

    /// Returns the runs under way as they are stored: each after the one it is nested in.
    pub(super) fn stored_runs(&self) -> Vec<StoredRun> {
        let mut runs: Vec<_> =
            self.runs.values().map(|driven| (self.depth(driven), driven.stored())).collect();
        runs.sort_by_key(|(depth, _)| *depth);
        runs.into_iter().map(|(_, stored)| stored).collect()
    }

    /// Restores a run; `plan` is that of the outermost.
    pub(super) fn restore(&mut self, stored: StoredRun, plan: &Arc<Plan>) -> Result<(), DriverError> {
        let (run, plan) = match &stored.nesting {
            Some(nesting) => (nesting.nested.id(), self.plan_of(&nesting.nested)?),
            None => (self.order.run.clone(), Arc::clone(plan)),
        };
        self.runs.insert(run, DrivenRun::restore(stored, plan)?);
        Ok(())
    }

    /// Returns the number of runs around a run.
    fn depth(&self, driven: &DrivenRun) -> usize {
        let outer = |driven: &DrivenRun| self.runs.get(&driven.nesting.as_ref()?.nested.outer);
        std::iter::successors(outer(driven), |driven| outer(driven)).count()
    }

    /// Returns the plan of a nested run: the one its step names or lists, or the one its outer run made.
    fn plan_of(&self, nested: &NestedRun) -> Result<Arc<Plan>, DriverError> {
        let outer = self.runs.get(&nested.outer).ok_or(DriverError::Plan)?;
        let step = step_of(&outer.machine, &nested.attempt).ok_or(DriverError::Plan)?;
        let plan = match (&step.work, nested.generated) {
            (StepWork::Uses(uses), None) => Some(Arc::clone(&uses.plan)),
            (StepWork::Agent(agent), None) => {
                agent.dispatch.as_ref().and_then(|dispatch| dispatch.plan_at(&nested.path)).cloned()
            }
            (StepWork::Generated(made), Some(digest)) => {
                let text = self.objects.get_now(&digest)?;
                let text = std::str::from_utf8(&text).map_err(|_| DriverError::Plan)?;
                generated_plan(&self.spec, outer.machine.plan(), made, text)
            }
            _ => None,
        };
        plan.ok_or(DriverError::Plan)
    }
}
