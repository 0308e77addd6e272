//! Work that was ordered, until it is reported.

use wf_base::name::{Name, RunId};
use wf_core::machine::{
    Attempt, AttemptEnd, AttemptUsage, Effect, EventKind, InputKind, Machine, TaskId, WorkExit,
};
use wf_model::{FailureClass, Step, StepWork};

use crate::order::{Job, WorkWish};
use crate::tree::TreeConflict;

/// Work that has not been reported.
#[derive(Clone, Debug)]
pub(crate) struct OpenWork {
    /// The run that it is for.
    pub(crate) run: RunId,
    /// The attempt that it is for.
    pub(crate) attempt: Option<Attempt>,
    /// The part that it has in its attempt.
    pub(crate) part: WorkPart,
    /// The number of rounds ordered before it.
    pub(crate) round: u32,
    /// True if it is for the next attempt of a task.
    pub(crate) prepares: bool,
    /// The wish about it.
    pub(crate) wish: WorkWish,
    /// The most that its calls of models use.
    pub(crate) set_aside: AttemptUsage,
}

/// The part that work has in an attempt.
#[derive(Clone, Debug)]
pub(crate) enum WorkPart {
    /// It is the work of the attempt itself, which has to end with it.
    Whole,
    /// It finds out which run the attempt is, which this effect begins.
    BeginNested(Box<Effect>),
    /// It ends the attempt that this run was: nothing stops it.
    EndNested(RunId),
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
            part: WorkPart::Other,
            round: machine.replans(),
            prepares: false,
            wish: WorkWish::GoOn,
            set_aside: AttemptUsage::default(),
        }
    }

    pub(crate) fn of(effect: &Effect, run: &RunId, machine: &Machine) -> Self {
        let (attempt, prepares) = (effect.attempt(), effect.prepares());
        Self { attempt, part: WorkPart::of(effect, machine), prepares, ..Self::for_run(run, machine) }
    }

    /// True if the attempt ends with it.
    pub(crate) fn is_attempt(&self) -> bool {
        matches!(self.part, WorkPart::Whole | WorkPart::BeginNested(_))
    }

    /// True if it ends with its attempt, or with the work for the plan itself.
    pub(crate) fn stops_with(&self, run: &RunId, attempt: Option<&Attempt>) -> bool {
        let is_its = self.run == *run && self.attempt.as_ref() == attempt;
        let is_unstoppable =
            matches!(self.part, WorkPart::EndNested(_) | WorkPart::Lookup(_) | WorkPart::Remember(_));
        is_its && !is_unstoppable
    }

    /// Returns the step that it is for; `None`: it is for the run.
    pub(crate) fn step(&self) -> Option<&Name> {
        let place = self.attempt.as_ref().map(|attempt| &attempt.place);
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
            Effect::Start { attempt, .. } => (attempt, None),
            Effect::Watch { attempt, generated, .. } => (attempt, *generated),
            Effect::Lookup { place, .. } => return Self::Lookup(place.clone()),
            Effect::Remember { place, .. } => return Self::Remember(place.clone()),
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

/// Returns the step of an attempt, as it is carried out now.
pub(crate) fn step_of<'m>(machine: &'m Machine, attempt: &Attempt) -> Option<&'m Step> {
    step_named(machine, &attempt.place.step)
}

/// Returns a step by its name, as it is carried out now.
pub(crate) fn step_named<'m>(machine: &'m Machine, name: &Name) -> Option<&'m Step> {
    let plan = machine.plan();
    Some(plan.step(plan.find(name.as_str())?))
}

/// True if work that begins later is done otherwise: by another way of its step, with what was verified or learned.
pub(crate) fn changes_work(fact: &EventKind) -> bool {
    matches!(
        fact,
        EventKind::RoundCompleted(_)
            | EventKind::MemoryApplied { .. }
            | EventKind::EvidenceTaken { .. }
            | EventKind::GatesPassed { .. }
    )
}

/// True if a worker needs more of the run than the work itself says: what was checked, what was decided.
pub(crate) fn relies_on_log(job: &Job) -> bool {
    match job {
        Job::Begin => false,
        Job::Effect(effect) => !matches!(**effect, Effect::Start { .. }),
        Job::EndNested { .. } | Job::Decide { .. } => true,
    }
}

/// True if an agent would begin a call with it, which the next workflow can ask for as well.
pub(crate) fn begins_call(effect: &Effect) -> bool {
    matches!(effect, Effect::CallModel { .. } | Effect::ServeClient { .. } | Effect::Compact { .. })
}

/// Returns the effect that begins work which nothing has begun.
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
        Effect::CallModel { .. } => "model",
        Effect::CallTool { .. } => "tool",
        Effect::Confirm { .. } => "confirm",
        Effect::Lookup { place, .. } => return format!("lookup {place}"),
        Effect::Remember { place, .. } => return format!("remember {place}"),
        _ => "work",
    };
    effect.attempt().map_or_else(|| kind.to_owned(), |attempt| format!("{kind} {attempt}"))
}

/// Fails an attempt whose files another step changed at the same time. A cached result whose files it has is not used.
pub(crate) fn without_conflict(input: InputKind, conflict: &TreeConflict) -> InputKind {
    match input {
        InputKind::Ended(end) => {
            let reason = format!(
                "another step changed `{}` at the same time; let one of them depend on the other, or write to \
                 different files",
                conflict.path
            );
            let exit = WorkExit::Error { reason, failure_class: FailureClass::Logical };
            InputKind::Ended(AttemptEnd { exit, outputs: wf_model::JsonObject::new(), ..end })
        }
        InputKind::Looked { place, .. } => InputKind::Looked { place, found: None },
        other => other,
    }
}
