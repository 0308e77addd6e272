//! Checks the results of runs again: the freshness of their evidence and the current verdicts of
//! their checks. Nothing of it is recorded.

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::watch;

use wf_base::name::{Name, RunId};
use wf_core::{
    machine::{Artifact, Attempt, CheckRuling, CheckVerdict, Event, EventKind, Machine, TaskId},
    observe::RunRef,
    verify::{CriterionComparison, EvidenceFreshness, ReverifiedResult},
};
use wf_exec::{StopLevel, evidence::first_stale, view::WorkspaceView};
use wf_model::{Check, JsonObject, Plan};
use wf_store::FencingToken;

use super::judging::{self, CheckSubject};
use crate::{
    files::{recorded_results::evidence_of_run, view},
    run::{
        RunContext,
        attempt_task::written_step,
        context::{RunInputs, RunOwnership},
        recorded_config::is_elsewhere,
    },
    session::{
        EngineError, EngineSession,
        waiting::{self, block_on},
    },
};

/// A run with results to check again.
pub struct Reverification {
    /// The run, with its path if it is nested.
    pub run: RunRef,
    /// The plan it was recorded with.
    pub plan: Arc<Plan>,
    pub params: JsonObject,
    pub events: Vec<(u64, Event)>,
    /// The only task to check, or the step whose items to check; `None`: all, and the plan's own criteria.
    pub only: Option<TaskId>,
}

/// The outermost of nested runs, as recorded.
#[derive(Clone, Copy, Debug)]
pub struct OutermostRun<'a> {
    pub run: &'a RunId,
    pub plan: &'a Arc<Plan>,
    pub events: &'a [(u64, Event)],
}

/// Checks the results of some runs that are parts of one again.
pub fn verify(
    session: &Arc<EngineSession>,
    outermost: &OutermostRun<'_>,
    reverifications: Vec<Reverification>,
) -> Result<Vec<ReverifiedResult>, EngineError> {
    let looked = block_on(async {
        let OutermostRun { run, plan, events } = outermost;
        // The files of a worktree tell nothing of those here: then there is nothing to compare with.
        let view = if is_elsewhere(session, run)? {
            None
        } else {
            view::recorded_view(session, run, plan, events).map(|view| Arc::new(view.open()))
        };
        let (stop, heard) = watch::channel(StopLevel::No);
        let work = async {
            let mut findings = Vec::new();
            for again in reverifications {
                let look = ReverifyContext::new(session, again, view.clone())?;
                findings.extend(look.reverify_all(&heard).await?);
            }
            Ok(findings)
        };
        let findings = Box::pin(waiting::heeding(stop, work)).await?;
        let is_stopped = *heard.borrow() != StopLevel::No;
        Ok((findings, is_stopped))
    });
    session.executor.confirm_recorded();
    match looked? {
        (_, true) => Err(EngineError::Cancelled),
        (findings, false) => Ok(findings),
    }
}

struct ReverifyContext {
    run: Arc<RunContext>,
    machine: Machine,
    events: Vec<(u64, Event)>,
    only: Option<TaskId>,
}

impl ReverifyContext {
    fn new(
        session: &Arc<EngineSession>,
        reverification: Reverification,
        view: Option<Arc<WorkspaceView>>,
    ) -> Result<Self, EngineError> {
        let Reverification { run, plan, params, events, only } = reverification;
        let mut machine = Machine::new(Arc::clone(&plan), run.id.clone(), params.clone());
        for (_, event) in &events {
            machine.replay(event)?;
        }
        let files = evidence_of_run(&session.store.log_reader()?, &events)?;
        let errand = RunInputs {
            // Checks have no idempotency keys.
            key_scope: String::new(),
            plan,
            params,
            session_name: None,
            repeated_run: None,
            view,
            pinned_files: None,
            approved: None,
            evidence: files,
            outer_account: None,
            learns: false,
        };
        // Nothing is written, so no lease is needed.
        let token = FencingToken { run: run.id.clone(), number: 0 };
        let tenure = RunOwnership { token, supervisors: None };
        let run = RunContext::new(Arc::clone(session), run, errand, tenure)?;
        Ok(Self { run, machine, events, only })
    }

    async fn reverify_all(
        &self,
        stop: &watch::Receiver<StopLevel>,
    ) -> Result<Vec<ReverifiedResult>, EngineError> {
        let mut findings = Vec::new();
        for (place, then) in self.judged_tasks() {
            findings.push(self.reverify_task(place, &then, stop).await);
            self.run.session.executor.ensure_supervised()?;
        }
        Ok(findings)
    }

    /// Returns the ended tasks after they were judged, with the rulings, in plan order; the plan's own criteria last.
    fn judged_tasks(&self) -> Vec<(Option<TaskId>, BTreeMap<Name, CheckRuling>)> {
        let mut rulings: BTreeMap<Option<TaskId>, (u32, BTreeMap<Name, CheckRuling>)> = BTreeMap::new();
        let mut ended = Vec::new();
        for (_, event) in &self.events {
            match &event.fact {
                EventKind::CheckCompleted { attempt, verdict } => {
                    let number = attempt.as_ref().map_or(0, |attempt| attempt.attempt);
                    let place = attempt.as_ref().map(|attempt| attempt.task_id.clone());
                    let last = rulings.entry(place).or_default();
                    if last.0 != number {
                        *last = (number, BTreeMap::new());
                    }
                    last.1.insert(verdict.name.clone(), verdict.ruling);
                }
                EventKind::StepEnded { task_id, standing, reused_from, .. } => {
                    if reused_from.is_some() && standing.is_checked() {
                        rulings.insert(Some(task_id.clone()), (0, self.passed(task_id)));
                    }
                    ended.push(task_id.clone());
                }
                // The items of a repeated step are known to the run that made them alone.
                EventKind::StepReused { step, standing, .. }
                    if standing.is_checked() && !self.is_repeated(step) =>
                {
                    let place = TaskId::of_step(step);
                    rulings.insert(Some(place.clone()), (0, self.passed(&place)));
                    ended.push(place);
                }
                _ => {}
            }
        }
        let is_selected = |task_id: &Option<TaskId>| match (&self.only, task_id) {
            (None, None) => true,
            (only, Some(place)) => {
                ended.contains(place) && only.as_ref().is_none_or(|only| only.contains(place))
            }
            (Some(_), None) => false,
        };
        let order = |task_id: &Option<TaskId>| match task_id {
            Some(place) => {
                self.run.plan.find(place.step.as_str()).map_or(usize::MAX, wf_model::StepIx::index)
            }
            None => usize::MAX,
        };
        let selected = rulings.into_iter().filter(|(place, _)| is_selected(place));
        let mut selected: Vec<_> = selected.map(|(place, (_, then))| (place, then)).collect();
        selected.sort_by_key(|(place, _)| (order(place), place.as_ref().and_then(|place| place.item)));
        selected
    }

    fn checks(&self, task_id: Option<&TaskId>) -> &[Check] {
        match task_id {
            Some(place) => &written_step(&self.run, place).verify,
            None => &self.run.plan.parts().verify,
        }
    }

    fn is_repeated(&self, step: &Name) -> bool {
        let plan = &self.run.plan;
        plan.find(step.as_str()).is_some_and(|ix| plan.step(ix).is_repeated())
    }

    /// Returns the rulings on a result verified in another run.
    fn passed(&self, task_id: &TaskId) -> BTreeMap<Name, CheckRuling> {
        let checks = self.checks(Some(task_id)).iter();
        checks.map(|check| (check.name.clone(), CheckRuling::Pass)).collect()
    }

    async fn reverify_task(
        &self,
        task_id: Option<TaskId>,
        then: &BTreeMap<Name, CheckRuling>,
        stop: &watch::Receiver<StopLevel>,
    ) -> ReverifiedResult {
        let verdicts = match self.machine.read_by_checks(task_id.as_ref()) {
            Some((item, reads)) => {
                let case = CheckSubject {
                    run: Arc::clone(&self.run),
                    attempt: task_id.clone().map(|task_id| Attempt { task_id, attempt: 0 }),
                    phase: None,
                    item,
                    reads,
                };
                judging::judge(&case, stop, &[]).await.0
            }
            None => Vec::new(),
        };
        let then = |verdict: &CheckVerdict| then.get(&verdict.name).copied();
        let criteria =
            verdicts.into_iter().filter_map(|now| Some(CriterionComparison { then: then(&now)?, now }));
        ReverifiedResult {
            path: self.run.run_ref.path.clone(),
            evidence: task_id.as_ref().and_then(|place| self.freshness(place)),
            task_id,
            criteria: criteria.collect(),
        }
    }

    fn freshness(&self, task_id: &TaskId) -> Option<EvidenceFreshness> {
        let artifacts: Vec<Artifact> = self.run.evidence_of(task_id)?;
        let session = &self.run.session;
        Some(EvidenceFreshness {
            files: artifacts.len(),
            stale: first_stale(&session.root, &artifacts, &session.shared.memo, true),
        })
    }
}
