use std::time::Duration;

use crate::engine::RunRef;
use crate::machine::{Criteria, Gap, Loop, Outcome, Round, Standing, StepState, Tally, Verdict};
use crate::model::Class;
use crate::name::{Name, PlanId, RunId};

/// Something worth telling about a run, with what is known about it.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// A run began. Nested runs begin silently.
    Began {
        /// The plan.
        plan: PlanId,
        /// The run.
        run: RunId,
        /// Whether nothing of it has a sandbox.
        is_open: bool,
    },
    /// An attempt of a place began.
    Started {
        /// The place with those above it: `build/compile[linux]`.
        subject: String,
        /// Which attempt.
        attempt: u32,
    },
    /// A place waits for a named lock.
    Awaits {
        /// The place with those above it.
        subject: String,
        /// The lock.
        lock: String,
    },
    /// An attempt failed and another will follow.
    Retries {
        /// The place with those above it.
        subject: String,
        /// The next attempt.
        attempt: u32,
        /// The time until then.
        wait: Duration,
        /// Why the one before failed.
        why: String,
        /// How many of its criteria failed, if they were judged.
        gap: Option<Gap>,
        /// Which loop of `inspect` or `test` it is, if it is one.
        looped: Option<Loop>,
    },
    /// A place ended.
    Ended(Box<Ending>),
    /// A criterion of a plan was ruled on.
    Judged {
        /// The plan.
        plan: PlanId,
        /// The plan, below the places above it.
        subject: String,
        /// The ruling.
        verdict: Verdict,
    },
    /// Something happened to the run as a whole.
    Noted {
        /// One word for it.
        verb: &'static str,
        /// What.
        text: String,
    },
    /// The run ended. Nested runs end silently: the step that uses them tells.
    Over(Box<RunEnding>),
}

/// How a place ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// The run it belongs to, with the places above it as people are shown them; its logs are
    /// found there.
    pub run: RunRef,
    /// The place, as people are shown it and commands take it: `compile[linux]`.
    pub place: String,
    /// The step.
    pub step: Name,
    /// One of the final states.
    pub state: StepState,
    /// How far it is believed.
    pub standing: Standing,
    /// Why; empty for success.
    pub why: String,
    /// Whose fault a failure is.
    pub class: Option<Class>,
    /// Whether its failure lets the run go on.
    pub tolerated: bool,
    /// Whether an earlier result was reused.
    pub cached: bool,
    /// From its first attempt to its end; `None` if it never began.
    pub took: Option<Duration>,
    /// How many attempts began.
    pub attempts: u32,
    /// The criteria of the last attempt that do not hold.
    pub broken: Vec<Verdict>,
    /// The last lines that the last attempt printed.
    pub tail: Vec<String>,
    /// Whether the step was a nested run, which told its own story.
    pub nested: bool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEnding {
    /// The run.
    pub run: RunId,
    /// Its plan.
    pub plan: PlanId,
    /// How.
    pub outcome: Outcome,
    /// Why; empty for success.
    pub why: String,
    /// The first step that failed.
    pub failed: Option<Name>,
    /// How its steps ended.
    pub tally: Tally,
    /// What is stale of its evidence, each in a sentence.
    pub stale: Vec<String>,
    /// How many criteria hold, if it was accepted with less than all.
    pub accepted: Option<Criteria>,
    /// What can be done next, where nothing more was tried.
    pub moves: Vec<String>,
    /// How long it took.
    pub took: Duration,
    /// What the controller made of its rounds.
    pub rounds: Vec<Round>,
    /// The commands that go on with it.
    pub next: String,
}

impl Ending {
    /// The place with those above it: `build/compile[linux]`.
    pub fn subject(&self) -> String {
        let path = self.run.path.iter().chain([&self.place]);
        path.map(String::as_str).collect::<Vec<_>>().join("/")
    }
}
