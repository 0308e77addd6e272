use super::{
    Check, DagKind, Escalation, GateRef, Param, Plan, PlanKind, PlanOutput, Policy, Retry, Secret,
    SkillUse, Step,
};
use crate::diag::{Code, Diagnostic};
use crate::expr::{Expr, Template};
use crate::model::OnFailure;
use crate::name::{EnvName, Name, PlanId, SkillName};
use crate::source::Spanned;
use crate::spec::decode::{Argument, Decoder, Entries, Fields, Period, record};

record! {
    /// A dag: pure wiring of plans.
    pub struct Dag as "a dag" {
        /// What the file is.
        required kind: DagKind,
        /// The id of the dag, unique in the workspace: lower-case words joined by hyphens.
        expected id: Spanned<PlanId>,
        /// A line for people.
        optional title: String,
        /// Typed inputs: a JSON Schema each.
        default params: Entries<Name, Param>,
        /// Environment variables for every plan.
        default env: Entries<EnvName, Template>,
        /// Values that must not be seen, and where they come from.
        default secrets: Entries<EnvName, Secret>,
        /// The skills that its nodes, and the plans that they use, may use; those that they name
        /// if absent.
        optional skills: Vec<Spanned<SkillName>>,
        /// How nodes share the machine and what a failure does.
        optional policy: DagPolicy,
        /// The longest a run may take.
        optional timeout: Spanned<Period>,
        /// The nodes.
        expected nodes: Vec<Node>,
        /// The order you expect, layer by layer; it is checked against `depends_on`.
        optional execution_order: Spanned<Vec<Vec<Spanned<Name>>>>,
        /// What is looked at in the combined result.
        default inspect: Vec<Check>,
        /// What is tried with the combined result once `inspect` holds.
        default test: Vec<Check>,
        /// The dag's own criteria, over the combined result.
        default verify: Vec<Check>,
        /// Values for a plan that uses this one.
        default outputs: Entries<Name, Spanned<PlanOutput>>,
        /// Rules at trigger points, for the run and for every node: names of files in `gates/`,
        /// or gates.
        default gates: Vec<GateRef>,
        /// What the blocks of gates lead to, by name.
        default escalation: Entries<Name, Escalation>,
    }
}

record! {
    /// A plan, or a script of a skill, within a dag.
    pub struct Node as "a node" {
        /// Its id, unique in the dag.
        required id: Spanned<Name>,
        /// The path of the plan's file, relative to this one.
        optional uses: Spanned<String>,
        /// A script of a skill, in the sandbox.
        optional skill: Box<Spanned<SkillUse>>,
        /// The parameters of the plan.
        default with: Entries<Name, Spanned<Argument>>,
        /// The nodes that must end first.
        default depends_on: Vec<Spanned<Name>>,
        /// An expression that decides whether to run at all.
        optional when: Spanned<Expr>,
        /// When a failed attempt is followed by another.
        optional retry: Box<Retry>,
        /// The longest an attempt may take.
        optional timeout: Spanned<Period>,
    }
    finish does_one_thing;
}

record! {
    /// How nodes share the machine and what a failure does.
    pub struct DagPolicy as "a dag's policy" {
        /// How many nodes run at once.
        optional max_concurrency: Spanned<u32>,
        /// Whether the failure of a node keeps others from starting: true if absent.
        optional fail_fast: bool,
        /// The retry of nodes that have none.
        optional default_retry: Box<Retry>,
    }
}

impl From<Dag> for Plan {
    /// A dag is a plan in which every step uses a plan.
    fn from(dag: Dag) -> Self {
        let (policy, retry) = match dag.policy {
            Some(policy) => policy.split(),
            None => (None, None),
        };
        let nodes = dag.nodes.map(|nodes| {
            let steps = nodes
                .into_iter()
                .map(|node| node.into_step(retry.as_deref()));
            steps.collect()
        });
        Self {
            kind: PlanKind::Plan,
            id: dag.id,
            title: dag.title,
            description: None,
            params: dag.params,
            env: dag.env,
            secrets: dag.secrets,
            skills: dag.skills,
            policy,
            timeout: dag.timeout,
            budget: None,
            steps: nodes,
            finally: Vec::new(),
            inspect: dag.inspect,
            test: dag.test,
            verify: dag.verify,
            outputs: dag.outputs,
            gates: dag.gates,
            escalation: dag.escalation,
            replan: None,
            planner: None,
            on_stuck: None,
            layers: dag.execution_order,
            briefing: String::new(),
        }
    }
}

impl DagPolicy {
    fn split(self) -> (Option<Policy>, Option<Box<Retry>>) {
        let policy = Policy {
            max_parallel: self.max_concurrency,
            on_failure: self.fail_fast.map(|is_fast| {
                if is_fast {
                    OnFailure::Stop
                } else {
                    OnFailure::Continue
                }
            }),
            grace: None,
        };
        (Some(policy), self.default_retry)
    }
}

/// Notes a node that does nothing, or two things.
fn does_one_thing(node: &mut Node, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    match (fields.has("uses"), fields.has("skill")) {
        (true, true) => {
            let message = format!("node `{}` has `uses` and `skill`", node.id.value);
            let mistake = Diagnostic::new(Code::ExecutorTwice, node.id.span, message);
            decoder.note(mistake.help("keep one of them"));
        }
        (false, false) => {
            let message = "a node needs the key `uses` or `skill`";
            let mistake = Diagnostic::new(Code::KeyMissing, fields.head(), message);
            decoder.note(mistake.help("`uses: PLAN.md` runs a plan"));
        }
        (false, true) if fields.has("with") => {
            let message = "only a node with `uses` has `with`";
            let mistake = Diagnostic::new(Code::KeyUnknown, fields.key("with"), message);
            decoder.note(mistake.help("write `args` inside `skill`"));
        }
        _ => {}
    }
}

impl Node {
    fn into_step(self, retry: Option<&Retry>) -> Step {
        Step {
            depends_on: self.depends_on,
            when: self.when.map(Box::new),
            has_executor: true,
            uses: self.uses.map(Box::new),
            skill: self.skill,
            with: self.with,
            retry: self.retry.or_else(|| retry.cloned().map(Box::new)),
            timeout: self.timeout.map(Box::new),
            ..Step::named(self.id)
        }
    }
}
