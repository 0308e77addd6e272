use wf_base::keywords;

use crate::failures::retry::FailureClass;

keywords! {
    /// A cause of a failure showing nothing of the work: what measures, serves or pays for it failed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EngineFailure {
        /// No model replied.
        Provider = "provider",
        /// A judge or a gate gave no answer that can be used.
        Sensor = "sensor",
        /// The budget is too small for the next call.
        Budget = "budget",
        /// The engine itself lacks something.
        Setup = "setup",
        /// Another run has the lock of the step, which does not wait for it.
        Busy = "busy",
        /// The attempt was told to end.
        Cancelled = "cancelled",
        /// The engine died while the attempt was under way.
        Interrupted = "interrupted",
    }
}

impl EngineFailure {
    /// Returns the failure class. An interrupted attempt has one of its own, since an idempotent step repeats it.
    pub fn class(self) -> FailureClass {
        match self {
            Self::Provider | Self::Sensor | Self::Budget | Self::Setup | Self::Busy | Self::Cancelled => {
                FailureClass::Engine
            }
            Self::Interrupted => FailureClass::Interrupted,
        }
    }

    /// Returns what is seen of it, for the list of all.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Provider => {
                "an agent's model does not reply: the provider answers 401, 429 or 5xx, something that is no reply, or \
                 nothing, or its breaker is open and no fallback is left"
            }
            Self::Sensor => {
                "a judge or a gate gives no answer that can be used: its model does not reply, what it says is no vote, \
                 or no model has its role"
            }
            Self::Budget => "the budget is too small for the next model call",
            Self::Setup => {
                "a secret, a sandbox, a container engine or a place for the log is missing, or the engine may not use it"
            }
            Self::Busy => "another run has the lock of the step, which says `when_busy: refuse`",
            Self::Cancelled => "the attempt was cancelled, though nobody asked the run to end",
            Self::Interrupted => "the engine died while the attempt was under way, and its end is unknown",
        }
    }

    /// Returns what to do about it, as the end of a sentence; empty where the reason of the failure says it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Provider => "once the provider replies again, retry the run",
            Self::Sensor => "repair the judge, then retry the run: the work itself was not found wrong",
            Self::Budget => "raise `budget` of the plan, then retry the run",
            Self::Setup => "provide it, then retry the run",
            Self::Busy => "once that run has ended, retry the run",
            Self::Cancelled => "retry the run",
            Self::Interrupted => "find out what was done, then retry the run",
        }
    }
}

/// True if failures of a class are evidence about the work: what is not changes no approach, and is not remembered.
pub fn is_evidence(class: FailureClass) -> bool {
    match class {
        FailureClass::Logical | FailureClass::Environmental => true,
        FailureClass::Engine | FailureClass::Interrupted => false,
    }
}
