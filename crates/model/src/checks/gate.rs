use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    checks::{
        approve::ApprovalRequirement,
        check::{CheckProbe, Expectation, JsonExpectation, show_expectations, show_json_expectations},
        escalation::{Escalation, show_escalations},
    },
    json::path::BoundedJsonPath,
    programs::script::EnvVar,
    summary::{RecordView, SummaryBuilder, exact_bytes, weight},
};
use std::sync::Arc;
use wf_base::{keywords, name::GateId};

/// A rule at a trigger point (DESIGN section 6).
#[derive(Clone, Debug)]
pub struct Gate {
    /// Its id, unique in the workspace.
    pub id: GateId,
    /// A one-line title.
    pub title: Option<String>,
    /// Its file, relative to the workspace; `None`: it is defined in a plan.
    pub path: Option<String>,
    /// The point where it is asked.
    pub on: GateTrigger,
    /// Policy or advice.
    pub lane: GateLane,
    /// The provider of the answer.
    pub provider: GateProvider,
    /// The path to its subject: in the context or, for a program, in its output. `None`: the
    /// subject of its trigger.
    pub extract: Option<BoundedJsonPath>,
    /// The name of the escalation after a block; `None`: it stays blocked.
    pub on_block: Option<String>,
    /// Its own escalations.
    pub escalations: Vec<Escalation>,
    /// The approval it asks for, if any.
    pub approval: ApprovalRequirement,
}

/// Names the gates that apply; each is shown once, in a part of its own.
pub(crate) fn show_gate_names(gates: &[Arc<Gate>], summary: &mut SummaryBuilder) {
    let ids: Vec<String> = gates.iter().map(|gate| gate.id.to_string()).collect();
    lines!(summary in Decision { guard "gates" = &ids });
}

/// A gate in full.
pub(crate) fn show_gate(gate: &Gate, summary: &mut SummaryBuilder) {
    let Gate {
        id: _, // The part that all its lines stand in.
        title,
        path,
        on,
        lane,
        provider,
        extract,
        on_block,
        escalations: own,
        approval,
    } = gate;
    lines!(summary in Decision {
        plain "title" in About = title,
        plain "file" = path.as_deref().unwrap_or("in the plan"),
        plain "on" = on.as_str(),
        least "lane" = match lane {
            GateLane::Policy => ("policy: it decides", 1.0),
            GateLane::Quality => ("quality: it advises only", 0.0),
        },
        plain "provider" = provider.as_str(),
        plain "extract" = extract,
    });
    match provider {
        GateProvider::Predicate(rule) => rule.view(summary),
        GateProvider::Script(program) => program.view(summary),
        GateProvider::Guardrail(detector) => summary.below("config", |summary| detector.view(summary)),
        GateProvider::Llm(model) => model.view(summary),
    }
    lines!(summary in Decision { plain "on_block" = on_block });
    show_escalations(own, summary);
    summary.below("approval", |summary| approval.view(summary));
}

keywords! {
    /// The point at which a gate is asked.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum GateTrigger {
        /// Before anything in a run begins.
        BeforeRun = "before_run",
        /// At the same point, about the parameters of the run, which are its `message`.
        OnInput = "on_input",
        /// Before the first attempt of a step or of an item.
        BeforeStep = "before_step",
        /// At the same point, about the command to be executed: `tool_name` and `tool_args`.
        OnToolCall = "on_tool_call",
        /// Before each model call of an agent, about what the model did not get before: its `message`.
        OnModelCall = "on_model_call",
        /// After each reply to an agent, before its tool calls, about the text: its `response`.
        OnModelReply = "on_model_reply",
        /// After each tool call of an agent, before the model gets the result, which is its `response`.
        OnToolResult = "on_tool_result",
        /// After the work of an attempt, before its checks.
        AfterStep = "after_step",
        /// At the same point, about the outputs, which are its `response`.
        OnOutput = "on_output",
        /// Before a run publishes its outputs, once its criteria pass.
        BeforePublish = "before_publish",
    }
}

keywords! {
    /// The lane of a gate: policy or advice.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum GateLane {
        /// It decides, and an unavailable answer blocks.
        Policy = "policy",
        /// It advises, and an unavailable answer lets pass.
        Quality = "quality",
    }
}

/// The provider of a gate's answer.
#[derive(Clone, Debug)]
pub enum GateProvider {
    /// A rule about a value.
    Predicate(GatePredicate),
    /// A program.
    Script(Box<GateScript>),
    /// Built-in detectors.
    Guardrail(Guardrail),
    /// A model.
    Llm(LlmJudge),
}

/// A rule about a value (Silas 5.5.2).
#[derive(Clone, Debug)]
pub enum GatePredicate {
    /// A number in ranges, which are tried in this order.
    NumericRange {
        /// Outside this range, it is blocked.
        block_outside: Option<PredicateRange>,
        /// In this range, it passes.
        auto_approve: Option<PredicateRange>,
        /// In this range, an approver must agree.
        require_approval: Option<PredicateRange>,
        /// It is first clamped to this range, and continues as that value.
        clamp: Option<PredicateRange>,
    },
    /// One of some texts.
    StringMatch {
        /// With these it passes.
        allowed: Vec<String>,
        /// With these an approver must agree.
        approval: Vec<String>,
    },
    /// A text a pattern matches.
    Regex(regex::Regex),
    /// A file that exists.
    FileValid {
        /// The permitted folders, relative to the workspace; empty: anywhere in it.
        permitted: Vec<String>,
        /// Its maximum size, in bytes.
        max_size_bytes: Option<u64>,
    },
    /// An approver must agree, always.
    ApprovalAlways,
    /// Comparisons of values inside of it.
    JsonPath(Vec<JsonExpectation>),
}

/// A rule, named by `check` and completed by `config`.
impl RecordView for GatePredicate {
    fn view(&self, summary: &mut SummaryBuilder) {
        let name = match self {
            Self::NumericRange { .. } => "numeric_range",
            Self::StringMatch { .. } => "string_match",
            Self::Regex(_) => "regex",
            Self::FileValid { .. } => "file_valid",
            Self::ApprovalAlways => "approval_always",
            Self::JsonPath(_) => "json_path",
        };
        lines!(summary in Decision { plain "check" = name });
        summary.below("config", |summary| match self {
            Self::NumericRange { block_outside, auto_approve, require_approval, clamp } => {
                lines!(summary in Decision {
                    guard "block_outside" = block_outside.as_ref().map(span_text),
                    grant "auto_approve" = auto_approve.as_ref().map(span_text),
                    guard "require_approval" = require_approval.as_ref().map(span_text),
                    plain "clamp" = clamp.as_ref().map(span_text),
                });
            }
            Self::StringMatch { allowed, approval } => {
                lines!(summary in Decision {
                    grant "allowed_values" = allowed,
                    grant "approval_values" = approval,
                });
            }
            Self::Regex(pattern) => lines!(summary in Decision { plain "pattern" = pattern.to_string() }),
            Self::FileValid { permitted, max_size_bytes } => {
                let size = max_size_bytes.map(|size| (exact_bytes(size), weight(size)));
                lines!(summary in Decision { plain "permitted" = permitted, most "max_size" = size });
            }
            Self::ApprovalAlways => {}
            Self::JsonPath(comparisons) => show_json_expectations(comparisons, summary),
        });
    }
}

/// A range of numbers, both ends included; `None`: unbounded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PredicateRange {
    /// The minimum.
    pub min: Option<f64>,
    /// The maximum.
    pub max: Option<f64>,
}

fn span_text(range: &PredicateRange) -> String {
    let PredicateRange { min, max } = range;
    let end = |end: &Option<f64>| end.map_or("…".into(), |number| number.to_string());
    format!("{} to {}", end(min), end(max))
}

/// A program answering for a gate. It receives values only through its environment.
#[derive(Clone, Debug)]
pub struct GateScript {
    /// The program or script to run.
    pub probe: CheckProbe,
    /// The expected result; if it does not name the exit code, that must be 0.
    pub expect: Expectation,
    /// The rule about the value the gate extracts from the output.
    pub then: Option<GatePredicate>,
    /// Variables it may see in addition to those of every check.
    pub env: Vec<EnvVar>,
    /// Its directory, relative to the workspace: the folder of the gate's file; `None`: the root.
    pub cwd: Option<String>,
    /// The maximum time it may take.
    pub timeout: Duration,
}

view! { program: GateScript in Work {
    own probe = RecordView::view,
    own expect = show_expectations,
    own then = RecordView::view,
    plain cwd,
    plain env,
    most timeout in Effort,
} }

/// The names of the built-in detectors.
pub const DETECTORS: [&str; 6] = ["secrets", "email", "card", "iban", "hidden_unicode", "injection"];

/// Built-in detectors, and the consequence of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guardrail {
    /// The names of the detectors to apply.
    pub detect: Vec<String>,
    /// The consequence of a finding.
    pub on_find: OnFinding,
}

view! { detector: Guardrail in Decision {
    guard detect,
    least on_find = match on_find {
        OnFinding::Block => ("block", 3.0),
        OnFinding::Ask => ("ask: an approver must agree", 2.0),
        OnFinding::Redact => ("redact: the findings are removed and it continues", 1.0),
        OnFinding::Flag => ("flag: it continues, and the finding is recorded", 0.0),
    },
} }

keywords! {
    /// The consequence of a guardrail's finding.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum OnFinding {
        /// It is blocked.
        #[default]
        Block = "block",
        /// It passes with the finding removed.
        Redact = "redact",
        /// An approver must agree.
        Ask = "ask",
        /// It passes, and the finding is recorded.
        Flag = "flag",
    }
}

/// A model that judges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlmJudge {
    /// The instructions for its judgement.
    pub prompt: String,
    /// True if it decides, although it is a model.
    pub promote_to_policy: bool,
}

view! { model: LlmJudge in Decision {
    plain prompt as "config.prompt",
    least promote_to_policy,
} }

impl GateTrigger {
    /// True if it concerns a whole run, not a step.
    pub fn is_of_run(self) -> bool {
        matches!(self, Self::BeforeRun | Self::OnInput | Self::BeforePublish)
    }

    /// True if it concerns only the conversations of agents.
    pub fn is_of_agent(self) -> bool {
        matches!(self, Self::OnModelCall | Self::OnModelReply | Self::OnToolResult)
    }
}

impl GateProvider {
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
