//! The author's intent, free of text: plans valid by construction.
//!
//! Steps refer to each other by [`StepIx`]. A plan's `finally` steps follow its main steps in the
//! same list. Values known only to a run stay [`Template`](crate::expr::Template)s and
//! [`Expr`](crate::expr::Expr)essions.
//!
//! ```text
//! graph, taint ──▶ plans ──▶ checks, agents ──▶ programs, costs, failures ──▶ expr ──▶ json
//! goal ──▶ schedule
//! ```
//!
//! Each room uses those to its right:
//!
//! - `plans`: plans, steps and the work of steps; [`definition`] compares steps.
//! - `checks`: the judges of work: checks, gates, approvals.
//! - `agents`: personas, models, MCP servers, skills of agents.
//! - `programs`: sandboxes, hosts, scripts of skills.
//! - `costs`: money, prices, budgets. `failures`: failure classes and retries.
//! - [`expr`]: expressions and templates. `json`: schemas, paths, comparisons.
//! - [`schedule`]: scheduled times. [`graph`]: questions about the steps of a plan. [`taint`]: the trust in values.
//! - [`summary`]: the text of a plan for approvers. Each record has its lines beside its declaration, so all rooms use it,
//!   and it walks through all of them.
//!
//! Start at [`Plan`], then [`Step`] and [`StepWork`].
//!
//! **Invariant:** a [`Plan`] has unique step ids, existing dependencies and no cycle; only
//! [`Plan::new`] makes one. **Invariant:** nothing here knows YAML, Markdown or spans.

#[macro_use]
pub mod summary;

mod agents;
mod checks;
mod connection;
mod costs;
pub mod expr;
mod failures;
mod goal;
pub mod graph;
mod json;
mod plans;
mod programs;
pub mod schedule;
pub mod taint;

pub use agents::agent_skill::{AgentSkill, AgentSkillScript};
pub use agents::interaction::{AgentInteraction, InteractionMode, InteractionRegister, WorkItemType};
pub use agents::model_definition::{McpServer, ModelApi, ModelChoice, ModelDefinition, ModelTable};
pub use agents::mood::{MoodWeights, PersonaChanges, PersonaEvent, PersonaTrait};
pub use agents::persona::{Persona, PersonaAxes, PersonaContext};
pub use checks::approve::{AnswerChoices, AnswerKind, ApprovalRequirement, ApprovalStep};
pub use checks::check::{
    Check, CheckCertainty, CheckJudge, CheckProbe, Expectation, JsonExpectation, LeastTests, ResultBefore,
    TestExpectation,
};
pub use checks::escalation::{Escalation, EscalationAction};
pub use checks::gate::{
    DETECTORS, Gate, GateLane, GatePredicate, GateProvider, GateScript, GateTrigger, Guardrail, LlmJudge,
    OnFinding, PredicateRange,
};
pub use checks::json_expect::{JsonMismatch, bounds, is_within};
pub use checks::phase::{CheckPhase, OnReworkExhausted, ReworkLimit};
pub use connection::{AuthMethod, ConnectionDeclaration};
pub use costs::budget::{BudgetResource, RunBudget};
pub use costs::model_price::{ModelPrice, TokenUsage};
pub use costs::money::{Money, MoneyError};
pub use failures::engine_failure::{EngineFailure, is_evidence};
pub use failures::retry::{FailureClass, FailureClassRule, RetryPolicy};
pub use goal::{
    AutonomyThresholds, Goal, GoalApproval, GoalEvent, GoalOverlapPolicy, GoalParam, MissedTimesChoice,
    MissedTimesPolicy, NotificationDelivery, NotificationRule, OnUnmet, WebhookUrl,
};
pub use json::once::UniqueKeyJson;
pub use json::path::{BoundedJsonPath, JsonPathError};
pub use json::schema::{SchemaError, ValueSchema};
pub use json::vocabulary::{SubschemaKind, VOCABULARY};
pub use plans::agent::{
    AgentDispatch, AgentEngine, AgentTool, AgentWork, AgentWorkspace, ChildPlan, ConversationUse,
    UntrustedRule, WorktreeMerge,
};
pub use plans::definition;
pub use plans::generated::{EnvelopeChecks, EnvelopeExecutor, GeneratedPlan, PlanEnvelope};
pub use plans::item_key::{ItemKeyError, ItemKeyPath};
pub use plans::param::{ParamErrors, PlanParam, resolve_values as resolve_params};
pub use plans::plan::{OnStepFailure, Plan, PlanError, PlanOutput, PlanParts, PlanPolicy, ResumeMode};
pub use plans::planner::{OnStuck, Planner, PlannerSource};
pub use plans::replan::ReplanSettings;
pub use plans::step::{
    Alternative, LockBusyPolicy, OnStepError, Step, StepCache, StepIx, StepLock, StepRepetition,
    UNMEANT_PATHS, claimed_path,
};
pub use plans::suggestion::{SuggestedPlan, SuggestionLimits, SuggestionSource, UndoPlan};
pub use plans::work::{HttpCall, NestedPlan, StepWork, WaitCondition};
pub use programs::fetch_host::FetchHost;
pub use programs::sandbox::{
    DEFAULT_MEMORY_BYTES, DEFAULT_PROCESS_LIMIT, DEFAULT_SCRATCH_BYTES, ResourceLimits, SandboxPermissions,
};
pub use programs::script::{EnvVar, RequiredOutput, SecretDeclaration, SecretSource, ShellScript};
pub use programs::skill::{
    SkillArg, SkillArgError, SkillCall, arg_mistake as misfit_arg, interpreter, interpreter_named,
};
pub use taint::TaintLevel;

/// A JSON object with its keys in order.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
