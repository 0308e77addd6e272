//! A plan with steps.

use super::{PlannerSpec, ReplanSpec, interaction, planner, single_agent};
use crate::{
    ast::{
        checks::{CheckSpec, EscalationSpec, GateRef, check},
        parts::{AllowSpec, BudgetSpec, ParamSpec, PlanOutputSpec, RetrySpec, SecretSpec, foreign, sound},
        steps::{AgentSpec, StepSpec},
    },
    decode::{
        ArgumentTemplate, DurationText, MappingFields, OrderedEntries, PathGlob, SpecDecoder, record, words,
    },
};
use wf_base::{
    diag::{Code, Diagnostic, nearest},
    keywords,
    name::{EnvName, Name, PlanId, SkillName},
    source::Spanned,
};
use wf_model::{
    EscalationAction, InteractionMode, OnStepFailure, OnStuck, ResumeMode, WorkItemType,
    expr::{ExprReference, Template},
};

record! {
    /// A plan: steps and the proof that they worked.
    pub struct PlanSpec as "a plan" {
        /// The kind of the file.
        required kind: PlanKind,
        /// The id of the plan, unique in the workspace: lower-case words joined by hyphens.
        expected id: Spanned<PlanId>,
        /// A title of one line.
        optional title: String,
        /// A description of a few lines.
        optional description: String,
        /// The purpose of a run, by which memory knows it; it may read parameters. The title if absent.
        optional intent: Spanned<Template>,
        /// The kind of work: `task`, `project`, `goal` or `system`. It is checked, and changes nothing.
        optional r#type: WorkItemType,
        /// The way in which its agents deal with people.
        optional interaction_mode: InteractionMode,
        /// Typed inputs: a JSON Schema each.
        default params: OrderedEntries<Name, ParamSpec>,
        /// Environment variables for every step.
        default env: OrderedEntries<EnvName, Template>,
        /// Secrets and their sources.
        default secrets: OrderedEntries<EnvName, SecretSpec>,
        /// The skills that its steps, and the plans that they use, may use; those that they name if
        /// absent.
        optional skills: Vec<Spanned<SkillName>>,
        /// The files of the workspace that are data, as globs: approvals do not bind their content.
        default data: Vec<Spanned<PathGlob>>,
        /// The concurrency of steps and the effect of a failure.
        optional policy: PolicySpec,
        /// The time limit of a run, without `finally` steps.
        optional timeout: Spanned<DurationText>,
        /// The budget of a run: attempts, time, tokens, money.
        optional budget: Box<BudgetSpec>,
        /// The steps. Without them, the plan is one agent, whose briefing is the body.
        optional steps: Vec<StepSpec>,
        /// The agent of a plan without `steps`: one with the role `executor` and no tools if absent.
        optional agent: Box<Spanned<AgentSpec>>,
        /// The permissions of that agent.
        optional allow: Box<AllowSpec>,
        /// The retries of that agent after a failed attempt.
        optional retry: Box<RetrySpec>,
        /// Steps that run last, one after another, whatever happened.
        default finally: Vec<StepSpec>,
        /// The checks that inspect the combined result.
        default inspect: Vec<CheckSpec>,
        /// The checks that test the combined result once `inspect` passes.
        default test: Vec<CheckSpec>,
        /// The plan's own criteria, over the combined result.
        default verify: Vec<CheckSpec>,
        /// Values for a plan that uses this one. Without `steps`, the schema of the agent's answer.
        default outputs: OrderedEntries<Name, Spanned<PlanOutputSpec>>,
        /// Rules at trigger points, for the run and for every step: names of files in `gates/`,
        /// or gates.
        default gates: Vec<GateRef>,
        /// The escalations for blocks of gates, by name.
        default escalation: OrderedEntries<Name, EscalationSpec>,
        /// The replanning after a failed run; none if absent.
        optional replan: ReplanSpec,
        /// A program that is asked for another alternative if no declared one is left.
        optional planner: Box<PlannerSpec>,
        /// The reaction when no declared alternative is left: `consult_planner` if there is a
        /// planner, else `abandon`.
        optional on_stuck: OnStuck,
        /// The way in which a suspended run goes on once what it waits for is answered or over: `automatic` if absent.
        optional resume: ResumeMode,
        /// The plan that undoes what a run did, on request and for a while; none if absent.
        optional undo: Box<UndoSpec>,
        /// The output in which its runs suggest what may be done next; none if absent.
        optional suggests: Box<SuggestsSpec>,
    }
    foreign foreign::PLAN;
    aside {
        /// The order of steps expected by the author of a dag, layer by layer.
        layers: Option<Spanned<Vec<Vec<Spanned<Name>>>>>,
        /// The prose outside the steps' sections.
        briefing: String,
        /// True if it has no `steps`: its one step is an agent, whose briefing is the body.
        is_single_agent: bool,
    }
    finish agrees;
}

/// Notes keys that do not fit each other, and completes a plan without `steps`.
fn agrees(plan: &mut PlanSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    sound::check_nonzero_duration(plan.timeout.as_ref(), decoder);
    sound::check_reserved_names(&plan.env, decoder);
    sound::check_data(&plan.data, decoder);
    interaction::check_interaction(plan, fields, decoder);
    if let Some(suggests) = &plan.suggests {
        suggests.check_output(&plan.outputs, decoder);
    }
    plan.finally.extend(spawned_steps(&plan.escalation));
    if let Some(budget) = &plan.budget {
        budget.check_main_attempts(plan.finally.len(), decoder);
    }
    if !fields.has("steps") {
        single_agent::complete(plan, fields, decoder);
        check_intent(plan, fields, decoder);
        return planner::is_asked(plan.on_stuck, plan.stuck_agents(), fields, decoder);
    }
    planner::is_asked(plan.on_stuck, plan.stuck_agents(), fields, decoder);
    check_intent(plan, fields, decoder);
    single_agent::refuse_keys(fields, decoder);
    check::refuse_before(plan.checks(), decoder);
    sound::check_output_values(&plan.outputs, decoder);
    if plan.steps.as_ref().is_some_and(Vec::is_empty) {
        let message = "a plan needs at least one step";
        decoder.emit(Diagnostic::new(Code::ValueWrong, fields.key("steps"), message));
    }
}

keywords! {
    listed
    /// The kind of a plan.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PlanKind {
        /// `plan`
        Plan = "plan",
    }
}

words!(PlanKind);
words!(ResumeMode);

keywords! {
    listed
    /// The kind of a dag.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DagKind {
        /// `dag`
        Dag = "dag",
    }
}

words!(DagKind);

impl PlanSpec {
    /// Returns the main steps.
    pub fn steps(&self) -> &[StepSpec] {
        self.steps.as_deref().unwrap_or_default()
    }

    /// Returns all gates: the plan's own, then those of each step.
    pub fn all_gates(&self) -> impl Iterator<Item = &GateRef> {
        let steps = self.all_steps().flat_map(|step| &step.gates);
        self.gates.iter().chain(steps)
    }

    /// Returns the plan's own checks of all phases, in the order of their execution.
    pub fn checks(&self) -> impl Iterator<Item = &CheckSpec> + Clone {
        let before = self.inspect.iter().chain(&self.test);
        before.chain(&self.verify)
    }

    /// Returns a step using the plan undoing a run, for the rules about used plans.
    pub fn undo_step(&self) -> Option<&StepSpec> {
        self.undo.as_ref()?.step.as_deref()
    }

    /// Returns all steps: the main steps, then the `finally` steps.
    pub fn all_steps(&self) -> impl Iterator<Item = &StepSpec> {
        self.steps().iter().chain(&self.finally)
    }
}

/// Returns the steps for the plans of escalations, to be run after all others.
pub(super) fn spawned_steps(
    escalations: &OrderedEntries<Name, EscalationSpec>,
) -> impl Iterator<Item = StepSpec> {
    escalations.iter().filter_map(|(name, escalation)| {
        let plan =
            escalation.plan.as_ref().filter(|_| escalation.action.value == EscalationAction::SpawnTask)?;
        let step = StepSpec::using(name.value.as_str(), plan, &escalation.with)?;
        Some(StepSpec { id: name.clone(), on_escalation: true, ..step })
    })
}

record! {
    /// The concurrency of steps and the effect of a failure.
    pub struct PolicySpec as "a policy" {
        /// The maximum number of concurrent attempts: the number of processors if absent.
        optional max_parallel: Spanned<u32>,
        /// The effect of a step's failure on the others: `stop` if absent.
        optional on_failure: OnStepFailure,
        /// The time between asking a process to exit and killing it.
        optional grace: DurationText,
    }
    finish some_parallel;
    completes wf_model::PlanPolicy;
}

words!(OnStepFailure);

fn some_parallel(policy: &mut PolicySpec, _fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    sound::at_least_one(policy.max_parallel.as_ref(), decoder);
}

/// Notes an intent unknown when the run begins, or one nobody looks up, and drops it.
pub(super) fn check_intent(
    plan: &mut PlanSpec,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    let Some(intent) = plan.intent.take() else { return };
    let later = intent.value.refs().iter().find(|read| !matches!(read.name, ExprReference::Param(_)));
    if let Some(later) = later {
        let message = format!("`intent` reads parameters, and `{}` is none", later.name);
        let mistake = Diagnostic::new(Code::ValueWrong, later.span, message);
        let help = "memory is asked before anything begins; read a parameter: `{{ params.request }}`";
        return decoder.emit(mistake.with_help(help));
    }
    if !fields.has("replan") && !plan.stuck_agents().guided {
        let message = "`intent` has no effect without `replan`: no one asks memory about it";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.key("intent"), message);
        return decoder.emit(mistake.with_help("add `replan: {}`, or remove it"));
    }
    plan.intent = Some(intent);
}

record! {
    /// The output in which the runs of a plan suggest what may be done next. A suggestion has a `title`, may have the reason,
    /// `why`, and names one of the plans, `uses`, with its parameters, `with`. A person starts it or dismisses it.
    pub struct SuggestsSpec as "`suggests`" {
        /// The output: a list of suggestions.
        required output: Spanned<Name>,
        /// The paths of the plans that a suggestion may start, relative to this file.
        required plans: Vec<Spanned<String>>,
    }
    finish check_suggestions;
}

/// Notes a list without plans, and a plan that is listed twice.
fn check_suggestions(
    suggests: &mut SuggestsSpec,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    if suggests.plans.is_empty() {
        let mistake = Diagnostic::new(Code::ValueWrong, fields.key("plans"), "`plans` is empty");
        decoder.emit(mistake.with_help("list the paths of the plans, relative to this file"));
    }
    sound::check_duplicates("plan", &suggests.plans, decoder);
}

impl SuggestsSpec {
    /// Notes an output the plan does not have.
    pub(super) fn check_output(
        &self,
        outputs: &OrderedEntries<Name, Spanned<PlanOutputSpec>>,
        decoder: &mut SpecDecoder<'_>,
    ) {
        let suggestions = &self.output;
        let names = || outputs.iter().map(|(name, _)| name.value.as_str());
        if names().any(|name| name == suggestions.value.as_str()) {
            return;
        }
        let message = format!("the plan has no output `{}`", suggestions.value);
        let mistake = Diagnostic::new(Code::UnknownOutput, suggestions.span, message);
        decoder.emit(match nearest(suggestions.value.as_str(), names()) {
            Some(near) => mistake.with_suggestion(Some(near)),
            None => mistake.with_help("declare it under `outputs` of the plan"),
        });
    }
}

/// The id of the step standing for it in the rules about used plans.
const STEP: &str = "undo";

record! {
    /// A plan that undoes what a run did, started on request: `wf undo RUN`.
    pub struct UndoSpec as "an undo" {
        /// The path of the plan's file, relative to this one.
        required uses: Spanned<String>,
        /// The parameters of the plan; they may read parameters and steps of the run that is undone.
        default with: OrderedEntries<Name, Spanned<ArgumentTemplate>>,
        /// The time after the end of the run in which it can be undone: 5 min if absent.
        optional within: Spanned<DurationText>,
    }
    instead {
        "plan" => "write `uses: PLAN.md`",
        "steps" => "put the steps into a plan: `uses: PLAN.md`",
        "window" => "write `within: 5m`",
        "timeout" => "write `within: 5m`",
    }
    aside {
        /// A step that uses the plan in the same way.
        step: Option<Box<StepSpec>>,
    }
    finish complete;
}

fn complete(undo: &mut UndoSpec, _fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if let Some(within) = undo.within.as_ref().filter(|within| within.value.0.is_zero()) {
        let message = "within 0 seconds, no run can be undone";
        let mistake = Diagnostic::new(Code::ValueWrong, within.span, message);
        decoder.emit(mistake.with_help("write a longer time, or remove it for 5 minutes"));
    }
    undo.step = StepSpec::using(STEP, &undo.uses, &undo.with).map(Box::new);
}
