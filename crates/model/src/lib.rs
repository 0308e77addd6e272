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

pub use agents::{
    agent_skill::{AgentSkill, AgentSkillScript, SkillArgsMistake},
    interaction::{AgentInteraction, InteractionMode, InteractionRegister, WorkItemType},
    model_definition::{McpServer, ModelApi, ModelChoice, ModelDefinition, ModelTable},
    mood::{MoodWeights, PersonaChanges, PersonaEvent, PersonaTrait},
    persona::{Persona, PersonaAxes, PersonaContext},
};
pub use checks::{
    approve::{AnswerChoices, AnswerKind, ApprovalRequirement, ApprovalStep},
    check::{
        Check, CheckCertainty, CheckJudge, CheckProbe, Expectation, JsonExpectation, LeastTests,
        ResultBefore, TestExpectation,
    },
    escalation::{Escalation, EscalationAction},
    gate::{
        DETECTORS, Gate, GateLane, GatePredicate, GateProvider, GateScript, GateTrigger, Guardrail, LlmJudge,
        OnFinding, PredicateRange,
    },
    json_expect::{JsonMismatch, bounds, is_within},
    phase::{CheckPhase, OnReworkExhausted, ReworkLimit},
};
pub use connection::{AuthMethod, ConnectionDeclaration};
pub use costs::{
    budget::{BudgetResource, RunBudget},
    model_price::{ModelPrice, TokenUsage},
    money::{Money, MoneyError},
};
pub use failures::{
    engine_failure::{EngineFailure, is_evidence},
    retry::{FailureClass, FailureClassRule, RetryPolicy},
};
pub use goal::{
    AutonomyThresholds, Goal, GoalApproval, GoalEvent, GoalOverlapPolicy, GoalParam, MissedTimesChoice,
    MissedTimesPolicy, NotificationDelivery, NotificationRule, OnUnmet, WebhookUrl,
};
pub use json::{
    once::UniqueKeyJson,
    path::{BoundedJsonPath, JsonPathError},
    schema::{SchemaError, ValueSchema},
    vocabulary::{SubschemaKind, VOCABULARY},
};
pub use plans::{
    agent::{
        AgentDispatch, AgentEngine, AgentTool, AgentWork, AgentWorkspace, ChildPlan, ConversationUse,
        UntrustedRule, WorktreeMerge,
    },
    definition,
    generated::{EnvelopeChecks, EnvelopeExecutor, GeneratedPlan, PlanEnvelope},
    item_key::{ItemKeyError, ItemKeyPath},
    param::{ParamErrors, PlanParam, resolve_values as resolve_params},
    plan::{OnStepFailure, Plan, PlanError, PlanOutput, PlanParts, PlanPolicy, ResumeMode},
    planner::{OnStuck, Planner, PlannerSource},
    replan::ReplanSettings,
    step::{
        Alternative, LockBusyPolicy, OnStepError, Step, StepCache, StepIx, StepLock, StepRepetition,
        UNMEANT_PATHS, claimed_path,
    },
    suggestion::{SuggestedPlan, SuggestionLimits, SuggestionSource, UndoPlan},
    work::{HttpCall, NestedPlan, StepWork, WaitCondition},
};
pub use programs::{
    fetch_host::{FetchHost, FetchHostError},
    sandbox::{
        DEFAULT_MEMORY_BYTES, DEFAULT_PROCESS_LIMIT, DEFAULT_SCRATCH_BYTES, ResourceLimits,
        SandboxPermissions,
    },
    script::{EnvVar, RequiredOutput, SecretDeclaration, SecretSource, ShellScript},
    skill::{SkillArg, SkillArgError, SkillCall, arg_mistake as misfit_arg, interpreter, interpreter_named},
};
pub use taint::TaintLevel;

/// A JSON object with its keys in order.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
