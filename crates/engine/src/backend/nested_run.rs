//! A nested run in words that other hosts understand, and what a copy of its outer run does for it.
//!
//! ```text
//! the step begins      begin_nested ──▶ NestedRun: which plan, with which parameters; else the end of the attempt
//! the run is opened    open_nested  ──▶ a copy of it, linked to that of the outer run
//! the run has ended    end_nested   ──▶ the end of the attempt, or of the child run of its agent
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use wf_base::{
    digest::Sha256Digest,
    name::{Name, RunId},
};
use wf_core::machine::{Attempt, ChildId, DiscardedResult, Effect, InputKind};
use wf_exec::WorkError;
use wf_model::{JsonObject, StepWork};

use super::replica::{RunReplica, WorkInputs, with_stale};
use crate::{
    files::{kept, reliance::ReliedEvidence},
    nested::{
        children,
        plan_run::{self, NestedBeginning, NestedPlace, NestedWork},
    },
    run::{AttemptTask, attempt_task::step_of},
    session::{EngineError, FinishedRun},
};

/// A run of the plan of a step, or one its agent started, as far as its attempt decides about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NestedRun {
    pub outer: RunId,
    /// The attempt it is, or whose agent started it.
    pub attempt: Attempt,
    /// Its id in the attempt, if an agent started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Name>,
    /// The path of its plan, relative to the workspace.
    pub path: String,
    /// Its resolved parameters.
    pub params: JsonObject,
    /// The digest of the text of its plan, if the outer run made that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<Sha256Digest>,
    /// The key of the item whose attempt it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_key: Option<String>,
    /// The results of the repeated run no longer as left when it began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DiscardedResult>,
}

impl NestedRun {
    /// Returns its id: the same attempt always has the same one, and so has the same child run of its agent.
    pub fn id(&self) -> RunId {
        self.outer.child(&self.attempt_path())
    }

    /// Returns its name, in the form of an attempt.
    pub fn attempt_path(&self) -> String {
        self.child_id().map_or_else(|| self.attempt.to_string(), |id| id.attempt_path())
    }

    /// Returns the child run of an agent it is, if it is one.
    pub fn child_id(&self) -> Option<ChildId> {
        Some(ChildId { attempt: self.attempt.clone(), child: self.child.clone()? })
    }
}

impl RunReplica {
    /// True if an effect begins a nested run, or goes on with one.
    pub fn is_nested_work(&self, effect: &Effect) -> bool {
        let (attempt, generated) = match effect {
            Effect::Start { attempt, .. } => (attempt, &None),
            Effect::Watch { attempt, generated, .. } => (attempt, generated),
            effect => return matches!(effect, Effect::StartChild { .. }),
        };
        match step_of(&self.run, &attempt.task_id).work {
            StepWork::Uses(_) => true,
            StepWork::Generated(_) => generated.is_some(),
            _ => false,
        }
    }

    /// Returns the work of finding out which run begins for an attempt. Without one, the inputs have the end of the
    /// attempt.
    pub fn begin_nested(
        &self,
        effect: Effect,
    ) -> impl Future<Output = Result<(WorkInputs, Option<NestedRun>), EngineError>> + Send + 'static {
        let run = Arc::clone(&self.run);
        async move {
            if let Effect::StartChild { id, plan, params } = effect {
                let ChildId { attempt, child } = id;
                let listed = children::listed_plan(&step_of(&run, &attempt.task_id), plan.as_str())?;
                let (outer, path, child) = (run.run_ref.id.clone(), listed.path, Some(child));
                let nested = NestedRun {
                    outer,
                    attempt,
                    child,
                    path,
                    params,
                    generated: None,
                    item_key: None,
                    dropped: Vec::new(),
                };
                return Ok((Vec::new(), Some(nested)));
            }
            let task = AttemptTask::from_effect(Arc::clone(&run), effect).ok_or(EngineError::Stuck)?;
            // What has changed is noted at once. Such a step is not confined, so nothing of it is left to be compared later.
            let reliance = ReliedEvidence::check_before(&task).await;
            match nested_run_of(&task)? {
                Ok(nested) => Ok((with_stale(&run, None), Some(nested))),
                Err(unable) => {
                    let ended = task.end_without_outputs(unable.into());
                    let ended = task.collect(ended, Some(reliance)).await?;
                    Ok((with_stale(&run, ended), None))
                }
            }
        }
    }

    /// Opens the copy of a nested run.
    pub(super) fn open_nested(&self, nested: &NestedRun) -> Result<Self, EngineError> {
        let NestedRun { attempt, child, path, params, generated, item_key, dropped, .. } = nested;
        let run = &self.run;
        let unable = |cause| EngineError::System { doing: "read the plan of a nested run", cause };
        if run.current_plan().find(attempt.task_id.step.as_str()).is_none() {
            return Err(unable(format!("the plan of its outer run has no step `{}`", attempt.task_id.step)));
        }
        let step = step_of(run, &attempt.task_id);
        let (plan, sources) = if child.is_some() {
            (children::plan_at(&step, path)?, Vec::new())
        } else {
            let work = NestedWork::new(run, &step, *generated).map_err(|error| unable(error.reason))?;
            (work.plan, work.sources)
        };
        let id = nested.child_id();
        let place = match &id {
            Some(id) => NestedPlace::of_child(run, id),
            None => NestedPlace::of_attempt(run, attempt),
        };
        let events = place.recorded_events()?;
        let past = match &run.repeated_run {
            Some(past) => {
                let reader = run.session.store.log_reader()?;
                past.nested(&reader, &attempt.task_id.step, item_key.as_deref(), Some(params))?
            }
            None => None,
        };
        let past = past.map(|past| past.without_results(dropped.clone()));
        let params = params.clone();
        let beginning = NestedBeginning { plan: &plan, path, params, sources, repeated_run: past, events };
        Ok(Self::of_nested(plan_run::open(place, beginning)?))
    }

    /// Returns the work of ending the attempt a nested run was, or the child run of an agent. `timed_out`: a limit
    /// ended it.
    pub fn end_nested(
        &self,
        effect: Effect,
        nested: &Self,
        timed_out: bool,
    ) -> impl Future<Output = Result<WorkInputs, EngineError>> + Send + 'static {
        let (run, context) = (Arc::clone(&self.run), Arc::clone(&nested.run));
        let finished: Option<FinishedRun> = nested.end().cloned();
        async move {
            let finished = finished.ok_or(EngineError::Stuck)?;
            if let Effect::StartChild { id, .. } = effect {
                let end = children::child_end(id, &context, finished, timed_out);
                return Ok(vec![InputKind::ChildEnded(Box::new(end))]);
            }
            let task = AttemptTask::from_effect(Arc::clone(&run), effect).ok_or(EngineError::Stuck)?;
            let ended = plan_run::attempt_end(&task, &context, finished, timed_out);
            let ended = task.collect(ended, None).await?;
            Ok(with_stale(&run, ended))
        }
    }
}

fn nested_run_of(task: &AttemptTask) -> Result<Result<NestedRun, WorkError>, EngineError> {
    let step = step_of(&task.run, &task.attempt.task_id);
    let work = NestedWork::new(&task.run, &step, task.generated);
    let (work, params) = match work.and_then(|work| Ok((work.params(task)?, work))) {
        Ok((params, work)) => (work, params),
        Err(unable) => return Ok(Err(unable)),
    };
    let past = plan_run::nested_past_run(task, &params)?;
    let past = kept::without_changed(&task.run.session, past)?;
    Ok(Ok(NestedRun {
        outer: task.run.run_ref.id.clone(),
        attempt: task.attempt.clone(),
        child: None,
        path: work.path.to_owned(),
        params,
        generated: task.generated,
        item_key: task.item.as_ref().map(|item| item.key.clone()),
        dropped: past.map(|past| past.dropped().to_vec()).unwrap_or_default(),
    }))
}
