//! What an author meant, free of text: plans that are valid by construction.
//!
//! Steps refer to each other by [`StepIx`]. A plan's `finally` steps follow its main steps in
//! the same list. Values that only a run knows stay [`Template`](crate::expr::Template)s and
//! [`Expr`](crate::expr::Expr)essions.
//!
//! **Invariant:** a [`Plan`] has unique step ids, dependencies that exist and no cycle; only
//! [`Plan::new`] makes one. **Invariant:** nothing here knows YAML, Markdown or spans.

mod approve;
mod autonomy;
mod budget;
mod check;
mod connection;
mod escalation;
mod gate;
mod goal;
mod json_expect;
mod json_path;
mod money;
mod once;
mod param;
mod phase;
mod plan;
mod planner;
mod replan;
mod retry;
mod rule;
mod sandbox;
mod schema;
mod skill;
mod step;
pub mod taint;
mod work;

pub use approve::{Approve, Needs};
pub use autonomy::Autonomy;
pub use budget::{Budget, Resource};
pub use check::{Check, Expect, JsonExpect, Mode, Probe};
pub use connection::{Auth, ConnectionSpec};
pub use escalation::{Escalation, EscalationAction};
pub use gate::{
    DETECTORS, Gate, GateScript, Guardrail, Lane, Llm, OnFind, Predicate, Provider, Range, Trigger,
};
pub use goal::{
    Given, Goal, GoalApproval, GoalNews, Missed, MissedRun, Notify, NotifyBy, OnUnmet, Overlap,
    WebhookUrl,
};
pub use json_expect::{JsonMiss, bounds, is_within};
pub use json_path::{BadJsonPath, JsonPath};
pub use money::{BadMoney, Money};
pub use once::Once;
pub use param::{BadParams, Param, resolve as resolve_params};
pub use phase::{CheckPhase, Exhausted, Loops};
pub use plan::{BadPlan, OnFailure, Parts, Plan, PlanOutput, Policy, Secret, SecretSource};
pub use planner::{OnStuck, Planner};
pub use replan::Replan;
pub use retry::{Class, Retry};
pub use rule::ClassRule;
pub use sandbox::{Allow, Limits};
pub use schema::{BadSchema, Schema};
pub use skill::{
    BadArg, SkillArg, SkillCall, interpreter, interpreter_named, misfit as misfit_arg,
};
pub use step::{Alternative, Cache, Fan, OnError, Output, Step, StepIx};
pub use taint::Taint;
pub use work::{EnvVar, Http, Script, Uses, Wait, Work};

/// A JSON object with its keys in order.
pub type Object = serde_json::Map<String, serde_json::Value>;
