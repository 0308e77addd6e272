use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{EnvVar, Escalation, Expect, JsonExpect, JsonPath, Needs, Probe};
use crate::name::GateId;

/// A rule at a trigger point (DESIGN section 6).
#[derive(Clone, Debug)]
pub struct Gate {
    /// Its id, unique in the workspace.
    pub id: GateId,
    /// A line for people.
    pub title: Option<String>,
    /// Its file, relative to the workspace; `None`: it stands in a plan.
    pub path: Option<String>,
    /// When it is asked.
    pub on: Trigger,
    /// Whether it decides or advises.
    pub lane: Lane,
    /// Who answers.
    pub provider: Provider,
    /// What it looks at: in the context or, of a program, in what that printed. `None`: what its
    /// trigger is about.
    pub extract: Option<JsonPath>,
    /// The name of the escalation that a block leads to; `None`: it stays blocked.
    pub on_block: Option<String>,
    /// Its own escalations.
    pub escalations: Vec<Escalation>,
    /// Who must agree where it asks for that.
    pub approval: Needs,
}

/// When a gate is asked.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// Before anything of a run begins.
    BeforeRun,
    /// Then, about the parameters of the run, which are its `message`.
    OnInput,
    /// Before the first attempt of a step or of an item.
    BeforeStep,
    /// Then, about what is to be executed: `tool_name` and `tool_args`.
    OnToolCall,
    /// After the work of an attempt, before its checks.
    AfterStep,
    /// Then, about the outputs, which are its `response`.
    OnOutput,
    /// Before a run gives its outputs, once its criteria hold.
    BeforePublish,
}

/// Whether a gate decides or advises.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// It decides, and what cannot be asked blocks.
    Policy,
    /// It advises, and what cannot be asked lets pass.
    Quality,
}

/// Who answers for a gate.
#[derive(Clone, Debug)]
pub enum Provider {
    /// A rule about a value.
    Predicate(Predicate),
    /// A program.
    Script(Box<GateScript>),
    /// Detectors that are built in.
    Guardrail(Guardrail),
    /// A model.
    Llm(Llm),
}

/// A rule about a value (Silas 5.5.2).
#[derive(Clone, Debug)]
pub enum Predicate {
    /// A number in ranges, which are looked at in this order.
    NumericRange {
        /// Outside of it, it is blocked.
        block_outside: Option<Range>,
        /// In it, it goes on.
        auto_approve: Option<Range>,
        /// In it, somebody must agree.
        require_approval: Option<Range>,
        /// It is moved into this range first, and goes on as that.
        clamp: Option<Range>,
    },
    /// One of some texts.
    StringMatch {
        /// With these it goes on.
        allowed: Vec<String>,
        /// With these somebody must agree.
        approval: Vec<String>,
    },
    /// A text that a pattern matches.
    Regex(regex::Regex),
    /// A file that is there.
    FileValid {
        /// The folders that it may be in, relative to the workspace; empty: anywhere in it.
        permitted: Vec<String>,
        /// The largest it may be, in bytes.
        max_size_bytes: Option<u64>,
    },
    /// Somebody must agree, always.
    ApprovalAlways,
    /// Comparisons of values inside of it.
    JsonPath(Vec<JsonExpect>),
}

/// Numbers from one to another, both included; `None`: without end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// The least.
    pub min: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
}

/// A program that answers for a gate. It is given values through its environment alone.
#[derive(Clone, Debug)]
pub struct GateScript {
    /// What is run.
    pub probe: Probe,
    /// What must be found; if it does not speak of the exit code, that must be 0.
    pub expect: Expect,
    /// The rule about what the gate extracts from what it printed.
    pub then: Option<Predicate>,
    /// Variables that it may see besides those of every check.
    pub env: Vec<EnvVar>,
    /// Where it runs, relative to the workspace: the folder of the gate's file; `None`: the root.
    pub cwd: Option<String>,
    /// The longest it may take.
    pub timeout: Duration,
}

/// The names of the detectors that are built in.
pub const DETECTORS: [&str; 6] = [
    "secrets",
    "email",
    "card",
    "iban",
    "hidden_unicode",
    "injection",
];

/// Detectors that are built in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guardrail {
    /// What is looked for: the names of detectors.
    pub detect: Vec<String>,
    /// What a finding means.
    pub on_find: OnFind,
}

/// What a finding of a guardrail means.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OnFind {
    /// It is blocked.
    #[default]
    Block,
    /// It goes on without what was found.
    Redact,
    /// Somebody must agree.
    Ask,
    /// It goes on, and the finding is recorded.
    Flag,
}

/// A model that judges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Llm {
    /// What it judges by.
    pub prompt: String,
    /// Whether it decides, though it is a model.
    pub promote_to_policy: bool,
}

impl Trigger {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeRun => "before_run",
            Self::OnInput => "on_input",
            Self::BeforeStep => "before_step",
            Self::OnToolCall => "on_tool_call",
            Self::AfterStep => "after_step",
            Self::OnOutput => "on_output",
            Self::BeforePublish => "before_publish",
        }
    }

    /// Whether it speaks of a whole run, not of a step.
    pub fn is_of_run(self) -> bool {
        matches!(self, Self::BeforeRun | Self::OnInput | Self::BeforePublish)
    }
}

impl Provider {
    /// The word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Predicate(_) => "predicate",
            Self::Script(_) => "script",
            Self::Guardrail(_) => "guardrail",
            Self::Llm(_) => "llm",
        }
    }
}
