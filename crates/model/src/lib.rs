//! The author's intent, free of text: plans that are valid by construction.
//!
//! Steps refer to each other by [`StepIx`]. A plan's `finally` steps follow its main steps in the
//! same list. Values known only to a run stay [`Template`](crate::expr::Template)s and
//! [`Expr`](crate::expr::Expr)essions.
//!
//! **Invariant:** a [`Plan`] has unique step ids, dependencies that exist and no cycle; only
//! [`Plan::new`] makes one. **Invariant:** nothing here knows YAML, Markdown or spans.

#[macro_use]
pub mod summary;

pub mod definition;
pub mod expr;
pub mod graph;
pub mod schedule;

mod agent;
mod agent_dispatch;
mod agent_skill;
mod approve;
mod autonomy;
mod budget;
mod check;
mod claim;
mod connection;
mod engine_failure;
mod escalation;
mod exact_type;
mod fetch_host;
mod gate;
mod generated;
mod goal;
mod interaction;
mod json_expect;
mod json_order;
mod json_path;
mod mcp_server;
mod model_definition;
mod model_price;
mod money;
mod mood;
mod once;
mod param;
mod persona;
mod phase;
mod plan;
mod planner;
mod replan;
mod resumption;
mod retry;
mod rule;
mod sandbox;
mod schema;
mod skill;
mod step;
mod step_lock;
mod suggestion;
pub mod taint;
mod undo;
mod vocabulary;
mod work;

pub use agent::{
    AgentEngine, AgentTool, AgentWork, AgentWorkspace, ConversationUse, ModelChoice, UntrustedRule,
    WorktreeMerge,
};
pub use agent_dispatch::{AgentDispatch, ChildPlan};
pub use agent_skill::{AgentSkill, AgentSkillScript};
pub use approve::{AnswerChoices, AnswerKind, ApprovalRequirement, ApprovalStep};
pub use autonomy::AutonomyThresholds;
pub use budget::{BudgetResource, RunBudget};
pub use check::{
    Check, CheckCertainty, CheckJudge, CheckProbe, Expectation, JsonExpectation, LeastTests, ResultBefore,
    TestExpectation,
};
pub use claim::{UNMEANT_PATHS, claimed_path};
pub use connection::{AuthMethod, ConnectionDeclaration};
pub use engine_failure::{EngineFailure, is_evidence};
pub use escalation::{Escalation, EscalationAction};
pub use fetch_host::FetchHost;
pub use gate::{
    DETECTORS, Gate, GateLane, GatePredicate, GateProvider, GateScript, GateTrigger, Guardrail, LlmJudge,
    OnFinding, PredicateRange,
};
pub use generated::{EnvelopeChecks, EnvelopeExecutor, GeneratedPlan, PlanEnvelope};
pub use goal::{
    Goal, GoalApproval, GoalEvent, GoalOverlapPolicy, GoalParam, MissedTimesChoice, MissedTimesPolicy,
    NotificationDelivery, NotificationRule, OnUnmet, WebhookUrl,
};
pub use interaction::{AgentInteraction, InteractionMode, InteractionRegister, WorkItemType};
pub use json_expect::{JsonMismatch, bounds, is_within};
pub use json_path::{BoundedJsonPath, JsonPathError};
pub use mcp_server::McpServer;
pub use model_definition::{ModelApi, ModelDefinition, ModelTable};
pub use model_price::{ModelPrice, TokenUsage};
pub use money::{Money, MoneyError};
pub use mood::{MoodWeights, PersonaChanges, PersonaEvent, PersonaTrait};
pub use once::UniqueKeyJson;
pub use param::{ParamErrors, PlanParam, resolve_values as resolve_params};
pub use persona::{Persona, PersonaAxes, PersonaContext};
pub use phase::{CheckPhase, OnReworkExhausted, ReworkLimit};
pub use plan::{
    OnStepFailure, Plan, PlanError, PlanOutput, PlanParts, PlanPolicy, SecretDeclaration, SecretSource,
};
pub use planner::{OnStuck, Planner, PlannerSource};
pub use replan::ReplanSettings;
pub use resumption::ResumeMode;
pub use retry::{FailureClass, RetryPolicy};
pub use rule::FailureClassRule;
pub use sandbox::{
    DEFAULT_MEMORY_BYTES, DEFAULT_PROCESS_LIMIT, DEFAULT_SCRATCH_BYTES, ResourceLimits, SandboxPermissions,
};
pub use schema::{SchemaError, ValueSchema};
pub use skill::{
    SkillArg, SkillArgError, SkillCall, arg_mistake as misfit_arg, interpreter, interpreter_named,
};
pub use step::{Alternative, OnStepError, RequiredOutput, Step, StepCache, StepIx, StepRepetition};
pub use step_lock::{LockBusyPolicy, StepLock};
pub use suggestion::{SuggestedPlan, SuggestionLimits, SuggestionSource};
pub use taint::TaintLevel;
pub use undo::UndoPlan;
pub use vocabulary::{SubschemaKind, VOCABULARY};
pub use work::{EnvVar, HttpCall, NestedPlan, ShellScript, StepWork, WaitCondition};

/// A JSON object with its keys in order.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
