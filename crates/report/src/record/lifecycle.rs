use anstyle::Style;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::words::outcome_style;
use wf_base::{
    keyword::Keyword as _,
    untrusted::{BOLD, WARN},
};
use wf_core::machine::{RunOutcome, StepState};
use wf_store::{RunOwner, RunRow, RunState};

/// The state of a run in its life cycle, its process considered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunLifecycle {
    /// A process works on it.
    Running,
    /// A request is open, and nothing else is left to do before its answer; a process may wait for that.
    Waiting,
    /// Nobody does what is left to do: no process works on it, and tasks were at work when the last one died. It can be resumed,
    /// and its requests can be answered.
    #[default]
    Interrupted,
    Ended(RunOutcome),
}

impl RunLifecycle {
    /// Derives it from the record in the store.
    pub fn of(run: &RunRow, owner: Option<RunOwner>) -> Self {
        match run.state {
            RunState::Ended(outcome) => Self::Ended(outcome),
            RunState::Running if owner.is_some_and(|owner| owner.alive) && !run.waits_for_people => {
                Self::Running
            }
            RunState::Running if run.waits_for_people => Self::Waiting,
            RunState::Running => Self::Interrupted,
        }
    }

    /// Returns every state, those before the end first.
    pub fn all() -> impl Iterator<Item = Self> {
        let ends = RunOutcome::ALL.iter().map(|outcome| Self::Ended(*outcome));
        [Self::Running, Self::Waiting, Self::Interrupted].into_iter().chain(ends)
    }

    /// Returns the state with a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::all().find(|life| life.as_str() == word)
    }

    /// Returns its state in the store.
    pub fn recorded(self) -> RunState {
        match self {
            Self::Ended(outcome) => RunState::Ended(outcome),
            Self::Running | Self::Waiting | Self::Interrupted => RunState::Running,
        }
    }

    /// Returns the state that is shown for the recorded one of a task: in a run that waits for people, nothing runs. A
    /// repeated step, or one that uses a plan, waits with its parts. Where no process works on the run, no task goes on.
    pub fn shown_state(self, recorded: StepState) -> StepState {
        match (self, recorded) {
            (Self::Waiting, StepState::Running) => StepState::Waiting,
            (Self::Interrupted, StepState::Queued | StepState::Running | StepState::Verifying) => {
                StepState::Interrupted
            }
            _ => recorded,
        }
    }

    /// Returns the recorded states of the tasks shown in one.
    pub fn recorded_states(self, shown: StepState) -> Vec<StepState> {
        let is_shown = |recorded: &&StepState| self.shown_state(**recorded) == shown;
        StepState::ALL.iter().filter(is_shown).copied().collect()
    }

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Interrupted => "interrupted",
            Self::Ended(outcome) => outcome.as_str(),
        }
    }

    /// Returns the style of the word.
    pub fn style(self) -> Style {
        match self {
            Self::Running => BOLD,
            Self::Waiting | Self::Interrupted => WARN,
            Self::Ended(outcome) => outcome_style(outcome),
        }
    }
}

/// Writes the state of a run into the fields of its row: the store alone knows only that it has not
/// ended, and the document must not contradict itself.
pub fn write_lifecycle(run: &mut Value, life: &Value) {
    if let Some(state) = run.get_mut("state") {
        *state = life.clone();
    }
}

/// Does the same as [`write_lifecycle`], for the record of a run and of all that are nested in it.
pub(super) fn write_lifecycles(record: &mut Value) {
    let life = record.get("life").cloned().unwrap_or_default();
    if let Some(run) = record.get_mut("run") {
        write_lifecycle(run, &life);
    }
    let nested = record.get_mut("nested").and_then(Value::as_array_mut);
    for document in nested.into_iter().flatten() {
        document.get_mut("record").map(write_lifecycles);
    }
}

impl Serialize for RunLifecycle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::RunLifecycle;
    use crate::record::tests::sample;
    use wf_core::machine::{RunOutcome, StepState};
    use wf_store::{RunOwner, RunRow, RunState};

    #[test]
    fn each_state_is_found_by_its_word() {
        for life in RunLifecycle::all() {
            assert_eq!(RunLifecycle::from_word(life.as_str()), Some(life));
        }
        assert_eq!(RunLifecycle::from_word("interrupted"), Some(RunLifecycle::Interrupted));
        assert_eq!(RunLifecycle::from_word("Running"), None);
    }

    #[test]
    fn a_run_without_a_process_waits_only_if_all_that_is_left_waits_for_people() {
        let run = |pending_approvals, waits_for_people| RunRow {
            state: RunState::Running,
            pending_approvals,
            waits_for_people,
            ..sample::run()
        };
        let owner = |alive| Some(RunOwner { pid: 7, alive });
        let life = |waits, owner| RunLifecycle::of(&run(1, waits), owner);
        assert_eq!(life(true, owner(true)), RunLifecycle::Waiting, "a process may wait, too");
        assert_eq!(life(true, owner(false)), RunLifecycle::Waiting);
        assert_eq!(life(true, None), RunLifecycle::Waiting);
        assert_eq!(life(false, owner(true)), RunLifecycle::Running);
        assert_eq!(life(false, owner(false)), RunLifecycle::Interrupted, "work was left undone");
        assert_eq!(life(false, None), RunLifecycle::Interrupted);
        assert_eq!(RunLifecycle::of(&run(0, false), None), RunLifecycle::Interrupted);
    }

    #[test]
    fn a_step_waits_with_its_run_and_is_found_by_the_word_that_is_shown() {
        use StepState::{Queued, Running, Succeeded, Verifying, Waiting};
        let (waiting, running) = (RunLifecycle::Waiting, RunLifecycle::Running);
        assert_eq!(
            [Running, Waiting, Succeeded].map(|state| waiting.shown_state(state)),
            [Waiting, Waiting, Succeeded]
        );
        assert_eq!([Running, Waiting].map(|state| running.shown_state(state)), [Running, Waiting]);
        let interrupted = RunLifecycle::Interrupted;
        assert_eq!(
            [Queued, Running, Verifying, Waiting, Succeeded].map(|state| interrupted.shown_state(state)),
            [StepState::Interrupted, StepState::Interrupted, StepState::Interrupted, Waiting, Succeeded]
        );
        assert_eq!(interrupted.recorded_states(Running), []);
        assert_eq!(interrupted.recorded_states(StepState::Interrupted)[..3], [Queued, Running, Verifying]);
        assert_eq!(waiting.recorded_states(Running), []);
        assert_eq!(waiting.recorded_states(Waiting).len(), 2);
        assert_eq!(running.recorded_states(Running), [Running]);
        assert_eq!(RunLifecycle::Ended(RunOutcome::Failed).recorded_states(Succeeded), [Succeeded]);
    }
}
