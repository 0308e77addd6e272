//! Ordered work, until it is reported.

use wf_base::name::{Name, RunId};
use wf_core::machine::{
    Attempt, AttemptEnd, AttemptUsage, ChildEnd, ChildId, Effect, EventKind, InputKind, Machine, MergeEnd,
    MergeOutcome, TaskId, WorkExit,
};
use wf_model::{FailureClass, Step, StepWork};

use crate::messages::order::{Job, WorkWish};

/// Unreported work.
#[derive(Clone, Debug)]
pub(crate) struct OpenWork {
    pub(crate) run: RunId,
    pub(crate) attempt: Option<Attempt>,
    /// The child run of the attempt's agent it is for.
    pub(crate) child: Option<ChildId>,
    /// The part it has in its attempt.
    pub(crate) part: WorkPart,
    /// The number of rounds ordered before it.
    pub(crate) round: u32,
    /// True if it is for the next attempt of a task.
    pub(crate) prepares: bool,
    /// The wish about it.
    pub(crate) wish: WorkWish,
    /// The most its calls of models use.
    pub(crate) set_aside: AttemptUsage,
}

/// The part that work has in an attempt.
#[derive(Clone, Debug)]
pub(crate) enum WorkPart {
    /// It is the work of the attempt itself, which has to end with it.
    Whole,
    /// It finds out which run the attempt is, or the child run, which this effect begins.
    BeginNested(Box<Effect>),
    /// It ends the attempt this run was, or the child run: nothing stops it.
    EndNested(RunId),
    /// It is a call of the agent working on the attempt, where that is.
    Call,
    /// It looks for the result of this task in the cache: nothing stops it.
    Lookup(TaskId),
    /// It keeps the result of this task for reuse: nothing stops it.
    Remember(TaskId),
    /// It is done for the attempt, or for the run.
    Other,
}

impl OpenWork {
    pub(crate) fn for_run(run: &RunId, machine: &Machine) -> Self {
        Self {
            run: run.clone(),
            attempt: None,
            child: None,
            part: WorkPart::Other,
            round: machine.replans(),
            prepares: false,
            wish: WorkWish::GoOn,
            set_aside: AttemptUsage::default(),
        }
    }

    pub(crate) fn from_effect(effect: &Effect, run: &RunId, machine: &Machine) -> Self {
        let (attempt, prepares) = (effect.attempt(), effect.prepares());
        let child = child_of(effect);
        Self { attempt, child, part: WorkPart::of(effect, machine), prepares, ..Self::for_run(run, machine) }
    }

    /// True if the attempt ends with it, or the child run it is for.
    pub(crate) fn is_attempt(&self) -> bool {
        matches!(self.part, WorkPart::Whole | WorkPart::BeginNested(_))
    }

    /// Returns the input ending what it is for: a child run, or an attempt.
    pub(crate) fn end(&self, exit: WorkExit) -> Option<InputKind> {
        if let Some(child) = self.child.clone() {
            return Some(InputKind::ChildEnded(Box::new(ChildEnd::without_result(child, exit))));
        }
        Some(InputKind::Ended(AttemptEnd::new(self.attempt.clone()?, exit)))
    }

    /// True if an agent does it at its host, which has its conversation.
    pub(crate) fn is_at_host(&self) -> bool {
        self.child.is_none() && matches!(self.part, WorkPart::Whole | WorkPart::Call)
    }

    /// True if it ends with its attempt, or with the work for the plan itself.
    pub(crate) fn stops_with(&self, run: &RunId, attempt: Option<&Attempt>) -> bool {
        let is_its = self.run == *run && self.attempt.as_ref() == attempt;
        let is_unstoppable =
            matches!(self.part, WorkPart::EndNested(_) | WorkPart::Lookup(_) | WorkPart::Remember(_));
        is_its && !is_unstoppable
    }

    /// Returns the step it is for; `None`: it is for the run.
    pub(crate) fn step(&self) -> Option<&Name> {
        let place = self.attempt.as_ref().map(|attempt| &attempt.task_id);
        let place = place.or(match &self.part {
            WorkPart::Lookup(place) | WorkPart::Remember(place) => Some(place),
            _ => None,
        });
        place.map(|place| &place.step)
    }
}

impl WorkPart {
    fn of(effect: &Effect, machine: &Machine) -> Self {
        let (attempt, generated) = match effect {
            Effect::StartChild { .. } => return Self::BeginNested(Box::new(effect.clone())),
            Effect::Start { attempt, .. } => (attempt, None),
            Effect::Watch { attempt, generated, .. } => (attempt, *generated),
            Effect::Gate(question) if question.is_of_agent() => return Self::Call,
            Effect::CallTool(_) | Effect::EndAgent(_) => return Self::Call,
            call if begins_call(call) => return Self::Call,
            Effect::Lookup { task_id, .. } => return Self::Lookup(task_id.clone()),
            Effect::Remember { task_id, .. } => return Self::Remember(task_id.clone()),
            _ => return Self::Other,
        };
        match step_of(machine, attempt).map(|step| &step.work) {
            Some(StepWork::Uses(_)) => Self::BeginNested(Box::new(effect.clone())),
            Some(StepWork::Generated(_)) if generated.is_some() => {
                Self::BeginNested(Box::new(effect.clone()))
            }
            _ => Self::Whole,
        }
    }
}

/// Returns the child run an effect begins, if it begins one.
pub(crate) fn child_of(effect: &Effect) -> Option<ChildId> {
    match effect {
        Effect::StartChild { id, .. } => Some(id.clone()),
        _ => None,
    }
}

/// Returns the name of the nested run the work of an effect may be: of its child run, or of its attempt.
pub(crate) fn nested_path(effect: &Effect) -> Option<String> {
    let of_attempt = || effect.attempt().map(|attempt| attempt.to_string());
    child_of(effect).map(|child| child.attempt_path()).or_else(of_attempt)
}

/// Returns the step of an attempt, as it is carried out now.
pub(crate) fn step_of<'m>(machine: &'m Machine, attempt: &Attempt) -> Option<&'m Step> {
    step_named(machine, &attempt.task_id.step)
}

/// Returns a step by its name, as it is carried out now.
pub(crate) fn step_named<'m>(machine: &'m Machine, name: &Name) -> Option<&'m Step> {
    let plan = machine.plan();
    Some(plan.step(plan.find(name.as_str())?))
}

/// True if work beginning later is done otherwise: by another way of its step, with what was verified or learned.
pub(crate) fn changes_work(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::RoundCompleted(_)
            | EventKind::MemoryApplied { .. }
            | EventKind::EvidenceTaken { .. }
            | EventKind::GatesPassed { .. }
    )
}

/// True if a worker needs more of the run than the work itself says: checks and decisions.
pub(crate) fn relies_on_log(job: &Job) -> bool {
    match job {
        Job::Begin => false,
        Job::Effect(effect) => !matches!(**effect, Effect::Start { .. }),
        Job::EndNested { .. } | Job::Decide { .. } => true,
    }
}

/// True if an agent would begin a call or a child run with it, which the next workflow can ask for as well.
pub(crate) fn begins_call(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::CallModel(_) | Effect::ServeClient(_) | Effect::Compact { .. } | Effect::StartChild { .. }
    )
}

/// Returns the effect beginning work which nothing has begun.
pub(crate) fn started(effect: Effect) -> Effect {
    match effect {
        Effect::Watch { attempt, item_value, reads, correction, tool_args, .. } => {
            Effect::Start { attempt, item_value, reads, correction, tool_args }
        }
        other => other,
    }
}

/// Returns a name for work, for people who look at the history.
pub(crate) fn name_of(effect: &Effect) -> String {
    let kind = match effect {
        Effect::Start { .. } => "start",
        Effect::Watch { .. } => "watch",
        Effect::Check { .. } => "check",
        Effect::Gate(_) => "gates",
        Effect::CallModel(_) => "model",
        Effect::CallTool(_) => "tool",
        Effect::StartChild { .. } => "run",
        Effect::Confirm { .. } => "confirm",
        Effect::Lookup { task_id, .. } => return format!("lookup {task_id}"),
        Effect::Remember { task_id, .. } => return format!("remember {task_id}"),
        _ => "work",
    };
    nested_path(effect).map_or_else(|| kind.to_owned(), |path| format!("{kind} {path}"))
}

/// Fails an attempt, a file of which another host changed at the same time. This outdates a merge: it is computed anew,
/// in the workspace as it is then. A cached result is not used.
pub(crate) fn note_conflict(input: &mut InputKind, path: &str) {
    match input {
        InputKind::Merged(MergeEnd { outcome, .. }) if *outcome == MergeOutcome::Merged => {
            *outcome = MergeOutcome::Outdated;
        }
        InputKind::Ended(end) => {
            let reason = format!(
                "another step changed `{path}` at the same time on another host; let one of them depend on the other, \
                 or write to different files"
            );
            end.exit = WorkExit::Error { reason, failure_class: FailureClass::Logical };
            end.outputs.clear();
        }
        InputKind::Looked { found, .. } => *found = None,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use wf_base::digest::Sha256Digest;
    use wf_core::machine::CachedResult;

    use super::*;

    #[test]
    fn of_work_whose_files_another_host_changed_merges_are_outdated_results_unused_and_attempts_fail() {
        let attempt = Attempt { task_id: TaskId::of_step(&Name::parse("a").unwrap()), attempt: 1 };
        let merged = MergeEnd { attempt: attempt.clone(), outcome: MergeOutcome::Merged };
        let mut input = InputKind::Merged(merged.clone());
        note_conflict(&mut input, "f");
        assert_eq!(input, InputKind::Merged(MergeEnd { outcome: MergeOutcome::Outdated, ..merged }));
        let task_id = attempt.task_id.clone();
        let found = CachedResult {
            cache_key: Sha256Digest::of_bytes(b"key"),
            reused_from: RunId::from_bytes([1; 16]),
            outputs: wf_model::JsonObject::new(),
            artifacts: Vec::new(),
        };
        let mut input = InputKind::Looked { task_id: task_id.clone(), found: Some(found) };
        note_conflict(&mut input, "f");
        assert_eq!(input, InputKind::Looked { task_id, found: None });
        let mut input = InputKind::Ended(AttemptEnd::new(attempt, WorkExit::Completed));
        note_conflict(&mut input, "f");
        let InputKind::Ended(end) = input else { panic!("it is still an end") };
        assert!(end.exit.to_string().contains("changed `f`"), "{}", end.exit);
    }
}
