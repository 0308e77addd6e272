use super::{DagKind, PlanKind, PlanSpec, PolicySpec, plan::spawned_steps};
use crate::{
    ast::{
        checks::{CheckSpec, EscalationSpec, GateRef},
        parts::{ParamSpec, PlanOutputSpec, RetrySpec, SecretSpec, sound},
        steps::{SkillUse, StepSpec, UsesSpec},
    },
    decode::{ArgumentTemplate, DurationText, MappingFields, OrderedEntries, PathGlob, SpecDecoder, record},
};
use wf_base::{
    diag::{Code, Diagnostic},
    name::{EnvName, Name, PlanId, SkillName},
    source::Spanned,
};
use wf_model::{
    OnStepFailure,
    expr::{Expr, Template},
};

record! {
    /// A dag: pure wiring of plans.
    pub struct DagSpec as "a dag" {
        /// The kind of the file.
        required kind: DagKind,
        /// The id of the dag, unique in the workspace: lower-case words joined by hyphens.
        expected id: Spanned<PlanId>,
        /// A title of one line.
        optional title: String,
        /// Typed inputs: a JSON Schema each.
        default params: OrderedEntries<Name, ParamSpec>,
        /// Environment variables for every plan.
        default env: OrderedEntries<EnvName, Template>,
        /// Secrets and their sources.
        default secrets: OrderedEntries<EnvName, SecretSpec>,
        /// The skills that its nodes, and the plans that they use, may use; those that they name if
        /// absent.
        optional skills: Vec<Spanned<SkillName>>,
        /// The files of the workspace that are data, as globs: approvals do not bind their content.
        default data: Vec<Spanned<PathGlob>>,
        /// The concurrency of nodes and the effect of a failure.
        optional policy: DagPolicySpec,
        /// The time limit of a run.
        optional timeout: Spanned<DurationText>,
        /// The nodes.
        expected nodes: Vec<DagNodeSpec>,
        /// The expected order, layer by layer; it is checked against `depends_on`.
        optional execution_order: Spanned<Vec<Vec<Spanned<Name>>>>,
        /// The checks that inspect the combined result.
        default inspect: Vec<CheckSpec>,
        /// The checks that test the combined result once `inspect` passes.
        default test: Vec<CheckSpec>,
        /// The dag's own criteria, over the combined result.
        default verify: Vec<CheckSpec>,
        /// Values for a plan that uses this one.
        default outputs: OrderedEntries<Name, Spanned<PlanOutputSpec>>,
        /// Rules at trigger points, for the run and for every node: names of files in `gates/`,
        /// or gates.
        default gates: Vec<GateRef>,
        /// The escalations for blocks of gates, by name.
        default escalation: OrderedEntries<Name, EscalationSpec>,
    }
    finish agrees;
}

/// Notes outputs without a value.
fn agrees(dag: &mut DagSpec, _fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    sound::check_output_values(&dag.outputs, decoder);
    sound::check_data(&dag.data, decoder);
}

record! {
    /// A plan, or a script of a skill, within a dag.
    pub struct DagNodeSpec as "a node" {
        /// Its id, unique in the dag.
        required id: Spanned<Name>,
        /// The path of the plan's file, relative to this one.
        optional uses: Spanned<String>,
        /// A script of a skill, in the sandbox.
        optional skill: Box<Spanned<SkillUse>>,
        /// The parameters of the plan.
        default with: OrderedEntries<Name, Spanned<ArgumentTemplate>>,
        /// The nodes that must end first.
        default depends_on: Vec<Spanned<Name>>,
        /// An expression that decides if it runs at all.
        optional when: Spanned<Expr>,
        /// The retries after a failed attempt.
        optional retry: Box<RetrySpec>,
        /// The time limit of an attempt.
        optional timeout: Spanned<DurationText>,
    }
    finish check_node;
}

record! {
    /// The concurrency of nodes and the effect of a failure.
    pub struct DagPolicySpec as "a dag's policy" {
        /// The maximum number of nodes that run at once.
        optional max_concurrency: Spanned<u32>,
        /// True if the failure of a node prevents others from starting: true if absent.
        optional fail_fast: bool,
        /// The retry of nodes without one of their own.
        optional default_retry: Box<RetrySpec>,
    }
    finish some_concurrency;
}

impl From<DagSpec> for PlanSpec {
    /// Converts a dag to a plan where every step uses a plan.
    fn from(dag: DagSpec) -> Self {
        let (policy, retry) = match dag.policy {
            Some(policy) => policy.split(),
            None => (None, None),
        };
        let nodes = dag.nodes.map(|nodes| {
            let steps = nodes.into_iter().map(|node| node.into_step(retry.as_deref()));
            steps.collect()
        });
        Self {
            kind: PlanKind::Plan,
            id: dag.id,
            title: dag.title,
            description: None,
            intent: None,
            params: dag.params,
            env: dag.env,
            secrets: dag.secrets,
            skills: dag.skills,
            data: dag.data,
            policy,
            timeout: dag.timeout,
            budget: None,
            steps: nodes,
            agent: None,
            allow: None,
            retry: None,
            finally: spawned_steps(&dag.escalation).collect(),
            inspect: dag.inspect,
            test: dag.test,
            verify: dag.verify,
            outputs: dag.outputs,
            gates: dag.gates,
            escalation: dag.escalation,
            replan: None,
            planner: None,
            on_stuck: None,
            resume: None,
            undo: None,
            suggests: None,
            r#type: None,
            interaction_mode: None,
            layers: dag.execution_order,
            briefing: String::new(),
            is_single_agent: false,
        }
    }
}

fn some_concurrency(
    policy: &mut DagPolicySpec,
    _fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    sound::at_least_one(policy.max_concurrency.as_ref(), decoder);
}

impl DagPolicySpec {
    fn split(self) -> (Option<PolicySpec>, Option<Box<RetrySpec>>) {
        let policy = PolicySpec {
            max_parallel: self.max_concurrency,
            on_failure: self
                .fail_fast
                .map(|is_fast| if is_fast { OnStepFailure::Stop } else { OnStepFailure::Continue }),
            grace: None,
        };
        (Some(policy), self.default_retry)
    }
}

/// Notes a node that does nothing, or two things.
fn check_node(node: &mut DagNodeSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    match (fields.has("uses"), fields.has("skill")) {
        (true, true) => {
            let message = format!("node `{}` has both `uses` and `skill`", node.id.value);
            let mistake = Diagnostic::new(Code::ExecutorTwice, node.id.span, message);
            decoder.emit(mistake.with_help("keep one of them"));
        }
        (false, false) => {
            let message = "a node needs `uses` or `skill`";
            let mistake = Diagnostic::new(Code::KeyMissing, fields.head(), message);
            decoder.emit(mistake.with_help("`uses: PLAN.md` runs a plan"));
        }
        (false, true) if fields.has("with") => {
            let message = "`with` is only valid for a node with `uses`";
            let mistake = Diagnostic::new(Code::KeyUnknown, fields.key("with"), message);
            decoder.emit(mistake.with_help("put `args` inside `skill`"));
        }
        _ => {}
    }
}

impl DagNodeSpec {
    fn into_step(self, retry: Option<&RetrySpec>) -> StepSpec {
        StepSpec {
            depends_on: self.depends_on,
            when: self.when.map(Box::new),
            has_executor: true,
            uses: self.uses.map(UsesSpec::File).map(Box::new),
            skill: self.skill,
            with: self.with,
            retry: self.retry.or_else(|| retry.cloned().map(Box::new)),
            timeout: self.timeout.map(Box::new),
            ..StepSpec::with_id(self.id)
        }
    }
}
