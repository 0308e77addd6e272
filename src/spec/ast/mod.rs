//! What an author wrote, typed, with the place of everything that can be wrong.
//!
//! One file for each thing. Each mapping is declared once, by `record!`.

mod alternative;
mod approve;
mod budget;
mod cache;
mod check;
mod classify;
mod dag;
mod escalation;
mod expect;
mod foreign;
mod gate;
mod goal;
mod http;
mod loops;
mod matrix;
mod needs;
mod notify;
mod param;
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
mod skill;
mod sound;
mod step;
mod wait;

pub use alternative::Alternative;
pub use approve::Approve;
pub use budget::Budget;
pub use cache::Cache;
pub use check::Check;
pub use classify::{Blame, ClassRule};
pub use dag::{Dag, DagPolicy, Node};
pub use escalation::Escalation;
pub use expect::{Expect, JsonExpect};
pub use gate::{Gate, GateKind, GateRef, ProviderWord, Setting};
pub use goal::{Goal, GoalKind};
pub use http::{Http, HttpExpect, Method};
pub use loops::Loops;
pub use matrix::{MAX_COMBINATIONS, Matrix};
pub use needs::Needs;
pub use notify::{Notify, Webhook};
pub use param::{Param, PlanOutput, StepOutput};
pub use plan::{DagKind, Plan, PlanKind};
pub use planner::Planner;
pub use policy::Policy;
pub use repair::Repair;
pub use repeat::ForEach;
pub use replan::Replan;
pub use retry::Retry;
pub use rule::{
    CheckWord, FileValid, GuardrailConfig, JsonPathRule, LlmConfig, NumericRange, RangeOf,
    RegexRule, Rule, StringMatch,
};
pub use sandbox::{Allow, CheckAllow, Limits};
pub use schedule::{DstRule, Exclude, HoursRule, MissedRule, ScheduleRule, TimedRule, When};
pub use secret::{Secret, SecretFrom};
pub use shell::{Shell, ShellWord};
pub use skill::{
    Connection, DryRun, Permissions, ScriptArg, SkillArgs, SkillOwn, SkillScript, SkillUse,
};
pub use step::Step;
pub use wait::Wait;
