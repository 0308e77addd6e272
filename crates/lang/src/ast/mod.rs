//! The declarations of an author, typed, with the location of everything that can be wrong.
//!
//! One file for each kind of declaration. Each mapping is declared once, by `record!`.
//!
//! # A key of a step
//!
//! Two declarations say all about a key, and the rest is derived or asked for:
//!
//! | declaration | derived from it | asked for by the compiler |
//! |---|---|---|
//! | the key of [`StepSpec`]: its type, whether it is required, its description | decoder, diagnostics of unknown keys, JSON Schemas | its check in `finish`, if it has one |
//! | the field of [`Step`](wf_model::Step), with or without `#[serde(skip)]` | its place in the [definition](wf_model::definition), so in retries, attestations and cache keys | lowering, and the line that shows it to approvers, from which the diff of two plans follows |
//!
//! A test of the approval view tries other values of every key of the JSON Schemas, and fails for a key that
//! changes no line.

mod agent;
mod alternative;
mod answer;
mod approve;
mod budget;
mod cache;
mod check;
mod clamp;
mod classify;
mod dag;
mod dispatch;
mod escalation;
mod expect;
mod foreign;
mod gate;
mod generated;
mod goal;
mod http;
mod intent;
mod interaction;
mod job;
mod lock;
mod loops;
mod matrix;
mod needs;
mod notify;
mod param;
mod persona;
mod persona_file;
mod plan;
mod planner;
mod policy;
mod repair;
mod repeat;
mod replan;
mod retry;
mod rule;
mod sandbox;
mod schedule;
mod secret;
mod shell;
mod single_agent;
mod skill;
mod sound;
mod step;
mod stuck;
mod suggests;
mod undo;
mod wait;

pub use agent::AgentSpec;
pub use alternative::AlternativeSpec;
pub use answer::{AnswerSpec, ChoicesSpec};
pub use approve::ApproveSpec;
pub use budget::BudgetSpec;
pub use cache::CacheSpec;
pub use check::{CheckSpec, JudgeSpec};
pub use classify::{AssignedFailureClass, ClassifyRuleSpec};
pub use dag::{DagNodeSpec, DagPolicySpec, DagSpec};
pub use dispatch::DispatchSpec;
pub use escalation::EscalationSpec;
pub use expect::{ExpectationSpec, JsonExpectationSpec, LeastTestsText, TestExpectationSpec};
pub use gate::{GateKind, GateProviderConfig, GateProviderKind, GateRef, GateSpec};
pub use generated::{EnvelopeSpec, GeneratedSpec, UsesSpec};
pub use goal::{GoalKind, GoalSpec};
pub use http::{HttpExpectationSpec, HttpMethod, HttpSpec};
pub use interaction::InteractionSpec;
pub use job::JobSpec;
pub use lock::{ConcurrencySpec, LockSpec};
pub use loops::LoopsSpec;
pub use matrix::{MAX_COMBINATIONS, MatrixSpec};
pub use needs::ApprovalNeedsSpec;
pub use notify::{NotifySpec, WebhookSpec};
pub use param::{ParamSpec, PlanOutputSpec, StepOutputSpec};
pub use persona::{PersonaSpec, PersonaUse};
pub use persona_file::PersonaFileSpec;
pub use plan::{DagKind, PlanKind, PlanSpec};
pub use planner::PlannerSpec;
pub use policy::PolicySpec;
pub use repair::RepairSpec;
pub use repeat::ForEachSpec;
pub use replan::ReplanSpec;
pub use retry::RetrySpec;
pub use rule::{
    FileValidConfig, GuardrailConfig, JsonPathConfig, LlmConfig, NumericRangeConfig, PredicateKind,
    PredicateRangeSpec, PredicateRule, RegexConfig, StringMatchConfig,
};
pub use sandbox::{AllowSpec, CheckAllowSpec, LimitsSpec};
pub use schedule::{
    DstSpec, ExclusionSpec, HoursExclusionSpec, MissedTimesSpec, RuleTimeSpec, ScheduleRuleSpec,
    TimedRuleSpec,
};
pub use secret::{SecretSourceKind, SecretSpec};
pub use shell::{KnownShell, ShellSpec};
pub use skill::{
    ConnectionPermissions, DryRunSpec, ScriptArg, SkillArgs, SkillConnection, SkillExtension, SkillScript,
    SkillUse,
};
pub use step::StepSpec;
pub use suggests::SuggestsSpec;
pub use undo::UndoSpec;
pub use wait::WaitSpec;
