use super::{
    Budget, Check, Escalation, GateRef, Param, PlanOutput, Planner, Policy, Replan, Secret, Step,
    foreign, planner, sound,
};
use crate::diag::{Code, Diagnostic};
use crate::expr::Template;
use crate::model::OnStuck;
use crate::name::{EnvName, Name, PlanId, SkillName};
use crate::source::Spanned;
use crate::spec::decode::{Decoder, Entries, Fields, Period, record, words};

record! {
    /// A plan: steps and how we know they worked.
    pub struct Plan as "a plan" {
        /// What the file is.
        required kind: PlanKind,
        /// The id of the plan, unique in the workspace: lower-case words joined by hyphens.
        expected id: Spanned<PlanId>,
        /// A line for people.
        optional title: String,
        /// A few lines for people.
        optional description: String,
        /// Typed inputs: a JSON Schema each.
        default params: Entries<Name, Param>,
        /// Environment variables for every step.
        default env: Entries<EnvName, Template>,
        /// Values that must not be seen, and where they come from.
        default secrets: Entries<EnvName, Secret>,
        /// The skills that its steps, and the plans that they use, may use; those that they name
        /// if absent.
        optional skills: Vec<Spanned<SkillName>>,
        /// How steps share the machine and what a failure does.
        optional policy: Policy,
        /// The longest a run may take, `finally` steps aside.
        optional timeout: Spanned<Period>,
        /// What a run may use up at most: attempts, time, tokens, money.
        optional budget: Box<Budget>,
        /// The steps.
        optional steps: Vec<Step>,
        /// Steps that run last, one after another, whatever happened.
        default finally: Vec<Step>,
        /// What is looked at in the combined result.
        default inspect: Vec<Check>,
        /// What is tried with the combined result once `inspect` holds.
        default test: Vec<Check>,
        /// The plan's own criteria, over the combined result.
        default verify: Vec<Check>,
        /// Values for a plan that uses this one.
        default outputs: Entries<Name, Spanned<PlanOutput>>,
        /// Rules at trigger points, for the run and for every step: names of files in `gates/`,
        /// or gates.
        default gates: Vec<GateRef>,
        /// What the blocks of gates lead to, by name.
        default escalation: Entries<Name, Escalation>,
        /// How far a run that failed is tried another way; not at all if absent.
        optional replan: Replan,
        /// A program that is asked for another way where no declared one is left.
        optional planner: Box<Planner>,
        /// What follows where no declared way is left: `consult_planner` where there is a planner,
        /// else `abandon`.
        optional on_stuck: OnStuck,
    }
    foreign foreign::PLAN;
    aside {
        /// The order of steps that the author of a dag expects, layer by layer.
        layers: Option<Spanned<Vec<Vec<Spanned<Name>>>>>,
        /// The prose that belongs to no step.
        briefing: String,
    }
    finish has_steps;
}

/// A plan without steps would be a briefing for an agent.
fn has_steps(plan: &mut Plan, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    sound::some_time(plan.timeout.as_ref(), decoder);
    sound::own_names(&plan.env, decoder);
    planner::is_asked(plan.on_stuck, fields, decoder);
    if let Some(budget) = &plan.budget {
        budget.leaves_steps_something(plan.finally.len(), decoder);
    }
    if !fields.has("steps") {
        let message = "a plan without `steps` is a briefing for an agent, \
                       which this version cannot use yet";
        let mistake = Diagnostic::new(Code::KindNotBuilt, fields.head(), message);
        decoder.note(mistake.help("give it `steps`"));
    } else if plan.steps.as_ref().is_some_and(Vec::is_empty) {
        let message = "a plan needs at least one step";
        decoder.note(Diagnostic::new(
            Code::ValueWrong,
            fields.key("steps"),
            message,
        ));
    }
}

/// The kind of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanKind {
    /// `plan`
    Plan,
}

words!(PlanKind { "plan" => Self::Plan });

/// The kind of a dag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DagKind {
    /// `dag`
    Dag,
}

words!(DagKind { "dag" => Self::Dag });

impl Plan {
    /// The main steps.
    pub fn steps(&self) -> &[Step] {
        self.steps.as_deref().unwrap_or_default()
    }

    /// All gates: the plan's own, then those of each step.
    pub fn all_gates(&self) -> impl Iterator<Item = &GateRef> {
        let steps = self.all_steps().flat_map(|step| &step.gates);
        self.gates.iter().chain(steps)
    }

    /// The plan's own checks of all phases, in the order in which they are asked.
    pub fn checks(&self) -> impl Iterator<Item = &Check> + Clone {
        let before = self.inspect.iter().chain(&self.test);
        before.chain(&self.verify)
    }

    /// All steps: the main steps, then the `finally` steps.
    pub fn all_steps(&self) -> impl Iterator<Item = &Step> {
        self.steps().iter().chain(&self.finally)
    }
}
