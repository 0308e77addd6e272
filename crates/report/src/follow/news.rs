use std::time::Duration;

use wf_base::name::{Name, PlanId, RunId};
use wf_core::{
    machine::{
        CheckVerdict, CriteriaCount, FailureCount, ReworkLoop, Round, RunOutcome, Standing, StepCounts,
        StepState,
    },
    observe::RunRef,
};
use wf_model::{FailureClass, JsonObject};

/// A notification about a run, with its context.
#[derive(Clone, Debug, PartialEq)]
pub enum RunNotification {
    /// A run started. Nested runs start silently.
    Began {
        plan: PlanId,
        run: RunId,
        /// True if nothing in it has a sandbox.
        is_unsandboxed: bool,
    },
    /// An attempt of a task started.
    Started {
        /// The task with those above it: `build/compile[linux]`.
        subject: String,
        attempt: u32,
    },
    /// A task waits for a lock, or until it may execute.
    Awaits {
        /// The task with those above it.
        subject: String,
        /// The lock with its holder, or the limit that keeps it back.
        reason: String,
    },
    /// An attempt failed and another will follow.
    Retries {
        /// The task with those above it.
        subject: String,
        /// The next attempt.
        attempt: u32,
        /// The time until then.
        wait: Duration,
        /// The reason for the failure of the one before.
        reason: String,
        /// The number of its failed criteria, if they were checked.
        gap: Option<FailureCount>,
        /// The loop of `inspect` or `test`, if it is one.
        looped: Option<ReworkLoop>,
    },
    Ended(Box<TaskEnding>),
    /// A verdict on a criterion of a plan.
    Judged {
        plan: PlanId,
        /// The plan, below the tasks above it.
        subject: String,
        verdict: CheckVerdict,
    },
    /// An event of the run as a whole.
    Noted {
        /// A one-word label.
        verb: &'static str,
        text: String,
    },
    /// The run ended. Nested runs end silently: the step using them is reported.
    Over(Box<RunEnding>),
}

/// The end of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskEnding {
    /// The run it belongs to, with the display names of the tasks above it; its logs are found
    /// there.
    pub run: RunRef,
    /// The task, by its display name, which commands accept: `compile[linux]`.
    pub task: String,
    pub step: Name,
    /// The final state.
    pub state: StepState,
    /// The standing of its result.
    pub standing: Standing,
    /// The reason; empty for success.
    pub reason: String,
    pub failure_class: Option<FailureClass>,
    /// True if the run continues despite its failure.
    pub allowed_to_fail: bool,
    /// True if an earlier result was reused.
    pub cached: bool,
    /// The time from its first attempt to its end; `None` if it never started.
    pub duration: Option<Duration>,
    /// The number of attempts that started.
    pub attempts: u32,
    /// The failed criteria of the last attempt.
    pub failed_checks: Vec<CheckVerdict>,
    /// The last lines of output of the last attempt.
    pub output_tail: Vec<String>,
    /// True if the step was a nested run, which printed its own steps.
    pub nested: bool,
    /// The options for the server where it ran; `None`: here.
    pub server: Option<String>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEnding {
    pub run: RunId,
    pub plan: PlanId,
    pub outcome: RunOutcome,
    /// The reason; empty for success.
    pub reason: String,
    /// The first step that failed.
    pub failed_step: Option<Name>,
    /// The counts of its steps by outcome.
    pub counts: StepCounts,
    /// The stale evidence, each in a sentence.
    pub stale: Vec<String>,
    /// The outputs of its plan.
    pub outputs: JsonObject,
    /// The number of passed criteria, if it was accepted with less than all.
    pub accepted: Option<CriteriaCount>,
    /// The options left, where nothing more was tried.
    pub moves: Vec<String>,
    pub duration: Duration,
    /// The rounds of the controller.
    pub rounds: Vec<Round>,
    /// The commands that resume or repeat it.
    pub next_commands: String,
    /// The command that shows its rounds.
    pub rounds_command: String,
}

impl TaskEnding {
    /// Returns the task with those above it: `build/compile[linux]`.
    pub fn subject(&self) -> String {
        let path = self.run.path.iter().chain([&self.task]);
        path.map(String::as_str).collect::<Vec<_>>().join("/")
    }
}
