//! The declarations of an author, typed, with the location of everything that can be wrong.
//!
//! One file for each kind of declaration. Each mapping is declared once, by `record!`.
//!
//! ```text
//! goals ──▶ plans ──▶ steps ──▶ checks ──▶ parts
//! ```
//!
//! Each room uses those to its right: `goals` and `plans` are kinds of files, `steps` and `checks` their
//! content, `parts` the shared declarations. Start at [`StepSpec`], then [`PlanSpec`].
//!
//! # A key of a step
//!
//! Two declarations say all about a key, and the rest is derived or asked for:
//!
//! | declaration | derived from it | asked for by the compiler |
//! |---|---|---|
//! | the key of [`StepSpec`]: its type, whether it is required, its description | decoder, diagnostics of unknown keys, JSON Schemas | its check in `finish`, if it has one |
//! | the field of [`Step`](wf_model::Step), with or without `#[serde(skip)]` | its place in the [definition](wf_model::definition), so in retries, attestations and cache keys | lowering, and the line shown to approvers, the base of the diff of two plans |
//!
//! A test of the approval view tries other values of every key of the JSON Schemas, and fails for a key
//! changing no line.

mod checks;
mod goals;
mod parts;
mod plans;
mod steps;

pub use checks::{
    CheckSpec, EscalationSpec, ExpectationSpec, FileValidConfig, GateKind, GateProviderConfig,
    GateProviderKind, GateRef, GateSpec, GuardrailConfig, JsonExpectationSpec, JsonPathConfig, JudgeSpec,
    LeastTestsText, LlmConfig, NumericRangeConfig, PredicateKind, PredicateRangeSpec, PredicateRule,
    RegexConfig, StringMatchConfig, TestExpectationSpec,
};
pub use goals::{
    DstSpec, ExclusionSpec, GoalKind, GoalSpec, HoursExclusionSpec, JobSpec, MissedTimesSpec, NotifySpec,
    RepairSpec, RuleTimeSpec, ScheduleRuleSpec, TimedRuleSpec, WebhookSpec,
};
pub use parts::{
    AllowSpec, ApprovalNeedsSpec, AssignedFailureClass, BudgetSpec, CheckAllowSpec, ClassifyRuleSpec,
    KnownShell, LimitsSpec, ParamSpec, PlanOutputSpec, RetrySpec, SecretSourceKind, SecretSpec, ShellSpec,
    StepOutputSpec,
};
pub use plans::{
    DagKind, DagNodeSpec, DagPolicySpec, DagSpec, PlanKind, PlanSpec, PlannerSpec, PolicySpec, ReplanSpec,
    SuggestsSpec, UndoSpec,
};
pub use steps::{
    AgentSpec, AlternativeSpec, AnswerSpec, ApproveSpec, CacheSpec, ChoicesSpec, ConcurrencySpec,
    ConnectionPermissions, DispatchSpec, DryRunSpec, EnvelopeSpec, ForEachSpec, GeneratedSpec,
    HttpExpectationSpec, HttpMethod, HttpSpec, InteractionSpec, LockSpec, LoopsSpec, MAX_COMBINATIONS,
    MatrixSpec, PersonaFileSpec, PersonaSpec, PersonaUse, ScriptArg, SkillArgs, SkillConnection,
    SkillExtension, SkillScript, SkillUse, StepSpec, UsesSpec, WaitSpec,
};
