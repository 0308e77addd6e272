//! Plans that steps use, as runs inside the run.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use wf_base::{
    digest::Sha256Digest,
    name::{Name, RunId},
};
use wf_core::{
    machine::{
        Attempt, AttemptEnd, ChildId, Event, Machine, NestedFindings, RunOutcome, Standing, TaskId, WorkExit,
    },
    observe::RunRef,
};
use wf_exec::{
    WorkError,
    view::{self, WorkspaceView},
};
use wf_model::{JsonObject, NestedPlan, Plan, Step, StepWork, expr::Template, resolve_params};
use wf_store::NewRun;

use super::generated;
use crate::{
    files::copies,
    reuse::RepeatedRun,
    run::{
        AttemptTask, RunContext, attempt_task::step_of, context::RunInputs, declarations,
        evidence_record::EvidenceRecord,
    },
    session::{EngineError, FinishedRun},
};

/// A plan to be run for a step.
pub(crate) struct NestedWork<'a> {
    pub(crate) plan: Arc<Plan>,
    /// Its path, relative to the workspace.
    pub(crate) path: &'a str,
    /// The values of its parameters, as the step gives them.
    with: &'a [(Name, Template)],
    /// Its texts, if the run it is nested in was started without them.
    pub(crate) sources: Vec<(String, String)>,
}

impl<'a> NestedWork<'a> {
    /// Returns the plan of a step, which the step names, or which the run made as the text with a digest.
    pub(crate) fn new(
        run: &RunContext,
        step: &'a Step,
        generated: Option<Sha256Digest>,
    ) -> Result<Self, WorkError> {
        match (&step.work, generated) {
            (StepWork::Uses(uses), None) => {
                let NestedPlan { plan, path, with } = &**uses;
                Ok(Self { plan: Arc::clone(plan), path, with, sources: Vec::new() })
            }
            (StepWork::Generated(made), Some(digest)) => {
                let (plan, text) = generated::stored_plan(run, made, digest)?;
                Ok(Self {
                    plan,
                    path: &made.path,
                    with: &made.with,
                    sources: vec![(made.path.clone(), text)],
                })
            }
            _ => Err(WorkError::logical(format!("step `{}` runs no plan", step.id))),
        }
    }

    pub(crate) fn params(&self, task: &AttemptTask) -> Result<JsonObject, WorkError> {
        params(task, self.with, &self.plan, self.path)
    }
}

/// Returns the end of the attempt a nested run was, and takes over its verified files. A plan the run made was not
/// approved with the plan of the step: its checks do not count for the step, nor do outputs the step does not declare.
pub(crate) fn attempt_end(
    task: &AttemptTask,
    nested_run: &RunContext,
    finished: FinishedRun,
    timed_out: bool,
) -> AttemptEnd {
    let place = &task.attempt.task_id;
    let step = step_of(&task.run, place);
    let is_approved = !matches!(step.work, StepWork::Generated(_));
    copies::adopt(&task.run, place, nested_run);
    let exit = exit_of(&finished, timed_out);
    let standing = is_approved.then_some(finished.standing);
    let inside = (!exit.is_success()).then_some(finished.failures).filter(|failures| !failures.is_empty());
    let findings = if task.run.learns { finished.findings } else { NestedFindings::default() };
    let findings = Box::new(NestedFindings { inside, ..findings });
    let ended = AttemptEnd { standing, findings, ..task.end_without_outputs(exit) };
    let mut ended = AttemptEnd { outputs: finished.outputs, ..ended };
    if ended.standing.is_some_and(Standing::is_checked) {
        ended.seen = nested_run.evidence_files();
        let no_outputs = BTreeMap::new();
        task.with_template_values(&no_outputs, |values| {
            declarations::name_releasing(&task.run, place, values, &mut ended.seen);
        });
    }
    if !is_approved {
        ended.outputs.retain(|name, _| step.outputs.iter().any(|output| output.name.as_str() == name));
    }
    ended.usage = nested_run.usage();
    task.run.note_evidence(place, &ended.seen);
    ended
}

/// Returns the parameters of a used plan. Text is read by the parameter's type, as on the command line; a value an
/// expression gave keeps its type.
pub(crate) fn params(
    task: &AttemptTask,
    with: &[(Name, Template)],
    plan: &Plan,
    path: &str,
) -> Result<JsonObject, WorkError> {
    let no_outputs = BTreeMap::new();
    let declared = &plan.parts().params;
    let mut values = JsonObject::new();
    for (name, template) in with {
        let value = task.with_template_values(&no_outputs, |known| template.value(known));
        let value = value.map_err(|error| WorkError::logical(error.to_string()))?;
        let param = declared.iter().find(|param| param.name == *name);
        let value = match (value, param) {
            (Value::String(text), Some(param)) if template.is_text() => param.schema.read(&text),
            (value, _) => value,
        };
        values.insert(name.to_string(), value);
    }
    resolve_params(declared, &values)
        .map_err(|errors| WorkError::logical(format!("{path}: {}", errors.problems.join("; "))))
}

/// The place of a nested run in another one.
pub(crate) struct NestedPlace<'a> {
    pub(crate) outer_run: &'a RunContext,
    pub(crate) task: &'a TaskId,
    /// The name of the child run, if an agent dispatched it.
    child: Option<&'a Name>,
    /// The last part of its `parents`: the task, with the name of the child run if it is one.
    pub(crate) path: String,
    /// The attempt it is, by its name: the same name always has the same nested run.
    pub(crate) attempt: String,
}

/// The content of a nested run.
pub(crate) struct NestedBeginning<'a> {
    pub(crate) plan: &'a Arc<Plan>,
    /// The path of the plan.
    pub(crate) path: &'a str,
    pub(crate) params: JsonObject,
    /// Its texts, if the run it is nested in was started without them.
    pub(crate) sources: Vec<(String, String)>,
    /// The run it repeats, as far as its results are unchanged.
    pub(crate) repeated_run: Option<RepeatedRun>,
    /// Its events, if it has begun.
    pub(crate) events: Vec<(u64, Event)>,
}

impl<'a> NestedPlace<'a> {
    /// The place of the run of an attempt whose step runs a plan.
    pub(crate) fn of_attempt(outer_run: &'a RunContext, attempt: &'a Attempt) -> Self {
        let task = &attempt.task_id;
        Self { outer_run, task, child: None, path: task.to_string(), attempt: attempt.to_string() }
    }

    /// The place of a child run of an agent.
    pub(crate) fn of_child(outer_run: &'a RunContext, id: &'a ChildId) -> Self {
        let (task, child) = (&id.attempt.task_id, Some(&id.child));
        Self { outer_run, task, child, path: id.task_path(), attempt: id.attempt_path() }
    }

    fn id(&self) -> RunId {
        self.outer_run.run_ref.id.child(&self.attempt)
    }

    /// Returns the events of the run, if it has begun.
    pub(crate) fn recorded_events(&self) -> Result<Vec<(u64, Event)>, EngineError> {
        Ok(self.outer_run.session.store.log_reader()?.events().of_run(&self.id(), 0)?)
    }
}

/// An opened nested run.
pub(crate) struct OpenNestedRun {
    pub(crate) run: Arc<RunContext>,
    pub(crate) machine: Machine,
    /// The run that is to be recorded, if nothing of it is recorded yet.
    pub(crate) new: Option<NewRun>,
    /// Its events, if it has begun.
    pub(crate) events: Vec<(u64, Event)>,
}

/// Opens a nested run: its machine, as far as its events go, and its context, which shares much with that of the outer
/// run.
pub(crate) fn open(
    place: NestedPlace<'_>,
    beginning: NestedBeginning<'_>,
) -> Result<OpenNestedRun, EngineError> {
    let NestedBeginning { plan, path: file, params, sources, repeated_run, events } = beginning;
    let outer = place.outer_run;
    let session = Arc::clone(&outer.session);
    let id = place.id();
    // The same in each attempt: an effect that the last one made is recognized in the next.
    let key_scope = outer.idempotency_key(place.task, place.child);
    let mut path = outer.run_ref.path.clone();
    path.push(place.path);
    let run_ref = RunRef { id: id.clone(), plan: plan.id().clone(), path };
    let dispatch = run_ref.dispatch().and_then(|dispatch| Name::parse(dispatch).ok());
    let mut machine = Machine::new(Arc::clone(plan), id, params.clone()).with_dispatch(dispatch);
    for (_, event) in &events {
        machine.replay(event)?;
    }
    let new = events.is_empty().then(|| NewRun {
        plan: plan.id().clone(),
        path: file.to_owned(),
        params: params.clone(),
        parent: Some((outer.run_ref.id.clone(), place.attempt)),
        retry_of: repeated_run.as_ref().and_then(|repeated| repeated.run_id().cloned()),
        session: outer.session_name.clone(),
        sources,
        created: session.clock.now(),
        config: serde_json::Value::Null,
        claim: None,
    });
    let ownership = outer.ownership.clone();
    let plan = Arc::clone(plan);
    let is_known =
        view::family(&outer.plan).into_iter().any(|plan_of_family| Arc::ptr_eq(plan_of_family, &plan));
    let within = |view: &Arc<WorkspaceView>| Arc::new(view.within(&plan, &params, is_known));
    let view = outer.view.as_ref().map(within);
    let inputs = RunInputs {
        key_scope,
        plan,
        params,
        session_name: outer.session_name.clone(),
        repeated_run,
        view,
        pinned_files: outer.pinned_files.clone(),
        approved: outer.approved.clone(),
        evidence: EvidenceRecord::from_events(events.iter().map(|(_, event)| event)),
        outer_account: Some(outer.account.clone()),
        learns: outer.learns,
    };
    let run = RunContext::new(session, run_ref, inputs, ownership)?;
    run.inherit(copies::kept_files(outer, Some(place.task)));
    Ok(OpenNestedRun { run, machine, new, events })
}

/// Returns the run the nested run repeats: the one nested there in the run the outer one repeats. It is found anew on
/// each request, so a resume finds the same.
pub(crate) fn nested_past_run(
    task: &AttemptTask,
    params: &JsonObject,
) -> Result<Option<RepeatedRun>, EngineError> {
    let Some(repeated_run) = &task.run.repeated_run else {
        return Ok(None);
    };
    let reader = task.run.session.store.log_reader()?;
    let key = task.item.as_ref().map(|item| item.key.as_str());
    let step = &task.attempt.task_id.step;
    Ok(repeated_run.nested(&reader, step, key, Some(params))?)
}

/// Returns the exit of a nested run, which a limit may have ended.
pub(crate) fn exit_of(finished: &FinishedRun, timed_out: bool) -> WorkExit {
    match finished.outcome {
        _ if timed_out => WorkExit::TimedOut,
        RunOutcome::Succeeded => WorkExit::Completed,
        RunOutcome::Cancelled => WorkExit::Cancelled,
        RunOutcome::Failed | RunOutcome::Abandoned => WorkExit::Error {
            reason: format!("nested run {} failed: {}", finished.run.short(), finished.reason),
            failure_class: finished.failures.class(),
        },
    }
}
