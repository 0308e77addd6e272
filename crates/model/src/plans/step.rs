//! The files a step declares to change, so no other task of its run changes them at the same time.

use crate::{
    JsonObject,
    checks::{
        check::{Check, show_checks},
        gate,
        gate::Gate,
        phase::{CheckPhase, ReworkLimit},
    },
    expr::{Expr, Template},
    failures::retry::{FailureClassRule, RetryPolicy, show_failure_rules, show_retries},
    json::schema::ValueSchema,
    plans::{
        agent::AgentWorkspace, item_key::ItemKeyPath, plan::Plan, planner, planner::OnStuck, work::StepWork,
    },
    programs::{
        sandbox::{ResourceLimits, SandboxPermissions},
        script::{EnvVar, RequiredOutput},
    },
    summary::{RecordView, SummaryBuilder, show_about, show_execution, time_limit},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use wf_base::{keywords, name::Name};

/// The index of a step in its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepIx(pub u32);

impl StepIx {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One unit of work. Rarely used settings are stored separately: plans have many steps.
///
/// Its [`Serialize`] form is its [definition](crate::plans::definition): all that makes its result what it is. Skipped
/// fields name it, order it, limit its attempts or judge its failure, and say nothing of its result.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Its id, unique in the plan.
    #[serde(skip)]
    pub id: Name,
    /// A one-line title.
    #[serde(skip)]
    pub title: Option<String>,
    /// The steps that must end first.
    #[serde(skip)]
    pub depends_on: Vec<StepIx>,
    /// The condition to run at all, evaluated when the dependencies have ended.
    pub when: Option<Box<Expr>>,
    /// The items it is repeated over.
    pub fan: StepRepetition,
    /// The part of each item of a list that is its key; `None`: a key is made of the whole item.
    pub key: Option<Box<ItemKeyPath>>,
    /// The maximum number of parallel items; `None`: the limit of the plan.
    #[serde(skip)]
    pub max_parallel: Option<u32>,
    /// The work to execute.
    #[serde(flatten)]
    pub work: StepWork,
    /// The image, by its digest, of the container where a process runs; `None`: no container.
    pub container: Option<String>,
    /// Variables for the work, after those of the plan.
    pub env: Vec<EnvVar>,
    /// The working directory, relative to the workspace; `None`: its root.
    pub cwd: Option<Template>,
    /// The maximum time of an attempt.
    #[serde(skip)]
    pub timeout: Option<Duration>,
    /// The maximum time an attempt may wait for its turn once the step is ready.
    #[serde(skip)]
    pub queue_timeout: Option<Duration>,
    /// The conditions and delays for retrying a failed attempt.
    #[serde(skip)]
    pub retry: Arc<RetryPolicy>,
    /// True if an interrupted attempt may safely be repeated.
    #[serde(skip)]
    pub idempotent: bool,
    /// True if the processes it leaves running outlive the run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub detach: bool,
    /// The reaction when attempts of its agent keep failing.
    #[serde(skip)]
    pub on_stuck: OnStuck,
    /// The criteria of its result, those of an earlier phase first.
    pub verify: Vec<Check>,
    /// The limit on how often `inspect` and `test` may send the work back for rework.
    #[serde(skip)]
    pub loops: ReworkLimit,
    pub outputs: Vec<RequiredOutput>,
    /// The outputs declared external.
    #[serde(skip)]
    pub external: Vec<Name>,
    /// Globs of the files it must produce, relative to the workspace.
    pub artifacts: Vec<Template>,
    /// Globs of further files it writes without a sandbox, relative to the workspace.
    pub writes: Vec<Template>,
    /// The cache settings, if its result may be reused.
    pub cache: Option<Box<StepCache>>,
    /// The named lock held while it runs.
    #[serde(skip)]
    pub concurrency: Option<StepLock>,
    /// The queue of a backend whose workers run it.
    #[serde(skip)]
    pub runs_on: Option<Name>,
    /// The effect of its failure on the run.
    #[serde(skip)]
    pub on_error: OnStepError,
    /// The permissions in its sandbox; `None`: it runs without a sandbox.
    pub allow: Option<Box<SandboxPermissions>>,
    /// The limits in its sandbox.
    pub limits: ResourceLimits,
    /// The rules for the class of a failure, applied before the built-in table.
    #[serde(skip)]
    pub classify: Vec<FailureClassRule>,
    /// Its own gates, which are asked after those of the plan.
    #[serde(skip)]
    pub gates: Vec<Arc<Gate>>,
    /// The tool that does the work, if the plan names one: see [`Step::tool`].
    #[serde(skip)]
    pub tool: Option<String>,
    /// The target of the work, if the plan names one.
    #[serde(skip)]
    pub target: Option<String>,
    /// True if it is the plan of the escalation with its id, and runs only after that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub on_escalation: bool,
    /// Its alternatives, in order of preference.
    pub alternatives: Vec<Alternative>,
    /// The prose of its section.
    #[serde(skip)]
    pub briefing: Option<String>,
}

/// A step of a plan. The briefing of an agent is its work, and shown as that.
pub(crate) fn show_step(step: &Step, plan: &Plan, summary: &mut SummaryBuilder) {
    let prose = step.briefing.as_deref().filter(|_| !matches!(step.work, StepWork::Agent(_)));
    show_about(step.title.as_deref(), prose, summary);
    let needs = step.depends_on.iter().map(|ix| plan.step(*ix).id.to_string());
    lines!(summary in Graph { guard "depends_on" = &needs.collect::<Vec<_>>() });
    step.view(summary);
}

// The id is the part that all lines stand in, and each alternative stands in a part of its own.
view! { step: Step in Effort {
    plain when in Graph = when.as_deref(),
    guard on_escalation in Graph = on_escalation.then_some("it runs only if a gate blocks and escalates to it"),
    own fan = RecordView::view,
    plain key in Graph = key.as_deref().map(ItemKeyPath::source),
    most max_parallel = max_parallel.filter(|_| step.is_repeated()),
    own gates = gate::show_gate_names,
    whole work = show_execution,
    most queue_timeout = time_limit(*queue_timeout); queue_timeout.is_none(),
    own retry = show_retries,
    grant on_stuck = planner::guidance_text(*on_stuck),
    grant idempotent = idempotent.then_some("true: an interrupted attempt is re-run"),
    grant detach = detach.then_some("true: processes that it leaves running outlive the run"),
    most on_error in Proof = match on_error {
        OnStepError::Fail => ("fail", 0.0),
        OnStepError::Continue => ("continue: the run continues as if it had succeeded", 1.0),
    }; *on_error == OnStepError::Fail,
    plain concurrency = concurrency.as_ref().map(|StepLock { name, when_busy }| match when_busy {
        LockBusyPolicy::Queue => format!("it holds the lock {name}"),
        LockBusyPolicy::Newest => format!("it holds the lock {name}, or is cancelled if a newer run waits for it, too"),
        LockBusyPolicy::Refuse => format!("it holds the lock {name}, or fails if another run has it"),
    }),
    plain runs_on =
        runs_on.as_ref().map(|queue| format!("the workers of the queue {queue} run it, on a backend")),
    own verify = show_checks,
    below loops = &verify.iter().any(|own| own.phase != CheckPhase::Verify).then_some(*loops),
    whole outputs = show_outputs,
    guard artifacts in Data,
    grant writes in Data,
    own cache = RecordView::view,
    own classify = show_failure_rules,
} aside
    id, title, depends_on, container, env, cwd, timeout, external, allow, limits, tool, target, alternatives,
    briefing
}

impl Step {
    /// True if it has items.
    pub fn is_repeated(&self) -> bool {
        !matches!(self.fan, StepRepetition::Once)
    }

    /// Returns the schemas of its outputs by name: those of the plan it uses, or its own.
    pub fn output_schemas(&self) -> Vec<(&Name, &ValueSchema)> {
        match &self.work {
            StepWork::Uses(uses) => {
                uses.plan.parts().outputs.iter().map(|output| (&output.name, &output.schema)).collect()
            }
            _ => self.outputs.iter().map(|output| (&output.name, &output.schema)).collect(),
        }
    }

    /// Returns the value of an output that holds where the step, or an item of it, ends without one.
    pub fn output_default(&self, output: &str) -> Option<&Value> {
        let mut schemas = self.output_schemas().into_iter();
        schemas.find(|(name, _)| name.as_str() == output)?.1.default_value()
    }

    /// A step that does its work once and promises nothing more.
    pub fn new(id: Name, work: StepWork) -> Self {
        Self {
            id,
            title: None,
            depends_on: Vec::new(),
            when: None,
            fan: StepRepetition::Once,
            key: None,
            max_parallel: None,
            work,
            container: None,
            env: Vec::new(),
            cwd: None,
            timeout: None,
            queue_timeout: None,
            retry: Arc::default(),
            idempotent: false,
            detach: false,
            on_stuck: OnStuck::default(),
            verify: Vec::new(),
            loops: ReworkLimit::default(),
            outputs: Vec::new(),
            external: Vec::new(),
            artifacts: Vec::new(),
            writes: Vec::new(),
            cache: None,
            concurrency: None,
            runs_on: None,
            on_error: OnStepError::Fail,
            allow: None,
            limits: ResourceLimits::default(),
            classify: Vec::new(),
            gates: Vec::new(),
            tool: None,
            target: None,
            on_escalation: false,
            alternatives: Vec::new(),
            briefing: None,
        }
    }

    /// Returns the permissions of what it does in a sandbox: its own, and those a plan of the run may have.
    pub fn permissions(&self) -> impl Iterator<Item = &SandboxPermissions> {
        let generated = match &self.work {
            StepWork::Generated(made) => Some(&made.envelope.allow),
            _ => None,
        };
        self.allow.as_deref().into_iter().chain(generated)
    }

    /// True if a planner may write what it does, and nothing is written yet.
    pub fn is_open(&self) -> bool {
        matches!(&self.work, StepWork::Generated(made) if made.text.is_none())
    }

    /// Returns the number of alternatives, including the step as it is written.
    pub fn alternative_count(&self) -> usize {
        self.alternatives.len() + 1
    }

    /// Returns the step in each of its alternatives, first as it is written.
    pub fn ways(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.alternatives.iter().map(|alternative| alternative.step.as_ref()))
    }

    /// Returns the number of the alternative with an id; without one, 0.
    pub fn way_of(&self, id: Option<&Name>) -> Option<usize> {
        (0..self.alternative_count()).find(|way| self.alternative_id(*way) == id)
    }

    /// Returns the name of an alternative; `None` for 0, the step as written, and if there is none.
    pub fn alternative_id(&self, way: usize) -> Option<&Name> {
        let alternative = self.alternatives.get(way.checked_sub(1)?);
        alternative.map(|alternative| &alternative.id)
    }

    /// Returns the step as an alternative does it: 0 is as it is written.
    pub fn with_alternative(&self, way: usize) -> Option<&Self> {
        match way.checked_sub(1) {
            None => Some(self),
            Some(at) => self.alternatives.get(at).map(|alternative| alternative.step.as_ref()),
        }
    }

    /// Returns the tool that does the work in an alternative. If the plan names none, each executor
    /// is a tool of its own, named after the step and the alternative: `fetch`, `fetch.from_cache`.
    pub fn tool(&self, way: usize) -> String {
        let tool = self.with_alternative(way).and_then(|step| step.tool.clone());
        tool.unwrap_or_else(|| match self.alternatives.get(way.wrapping_sub(1)) {
            Some(own) if own.replaces => format!("{}.{}", self.id, own.id),
            _ => self.tool.clone().unwrap_or_else(|| self.id.to_string()),
        })
    }

    /// Returns the target of the work in an alternative, if the plan names one.
    pub fn target(&self, way: usize) -> Option<&str> {
        self.with_alternative(way)?.target.as_deref()
    }
}

/// A declared alternative of a step.
#[derive(Clone, Debug, Serialize)]
pub struct Alternative {
    /// Its id, unique in the step.
    pub id: Name,
    /// True if it does the work with another executor.
    pub replaces: bool,
    /// The step as this alternative does it; it has no alternatives of its own.
    #[serde(serialize_with = "crate::plans::definition::serialize_set_fields")]
    pub step: Arc<Step>,
}

/// The items a step is repeated over.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepRepetition {
    /// No items: it runs once.
    Once,
    /// The items of a list a run computes.
    Each(Expr),
    /// The items of a list in the plan.
    List(Vec<serde_json::Value>),
    /// The combinations of a matrix, each an object from axis to value, in order.
    Matrix(Vec<JsonObject>),
}

impl RecordView for StepRepetition {
    fn view(&self, summary: &mut SummaryBuilder) {
        let (key, text) = match self {
            Self::Once => return,
            Self::Each(list) => ("for_each", list.source().to_owned()),
            Self::List(items) => ("for_each", Value::from(items.clone()).to_string()),
            Self::Matrix(items) => {
                let items: Vec<_> = items.iter().cloned().map(Value::Object).collect();
                ("matrix", Value::from(items).to_string())
            }
        };
        lines!(summary in Graph { plain (key) = text });
    }
}

fn show_outputs(step: &Step, summary: &mut SummaryBuilder) {
    for RequiredOutput { name, schema } in &step.outputs {
        let key = format!("outputs.{name}");
        lines!(summary in Data { guard (&key) = schema });
        let taint = step.external.contains(name).then_some("external");
        summary.below(&key, |summary| lines!(summary in Data { plain "taint" = taint }));
    }
}

/// The dependencies and the contents of a step's result.
#[derive(Clone, Debug, Serialize)]
pub struct StepCache {
    /// Globs of the files read, relative to the workspace.
    pub inputs: Vec<Template>,
    /// Globs of the files written, which are restored on reuse.
    pub outputs: Vec<Template>,
}

impl RecordView for StepCache {
    fn view(&self, summary: &mut SummaryBuilder) {
        let Self { inputs, outputs } = self;
        lines!(summary in Data {
            grant "cache" = "its result may be reused while its inputs are unchanged",
            guard "cache.inputs" = inputs,
            grant "cache.outputs" = outputs,
        });
    }
}

keywords! {
    listed
    /// The effect of a step's failure on the run.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum OnStepError {
        /// The run fails.
        #[default]
        Fail = "fail",
        /// The failure is reported; dependants and the run go on as if it had succeeded.
        Continue = "continue",
    }
}

/// The lock a step holds while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLock {
    /// Its name. All runs of a workspace share it.
    pub name: String,
    /// The reaction when another run has it.
    pub when_busy: LockBusyPolicy,
}

impl From<&str> for StepLock {
    /// Creates the lock of a step waiting for its turn.
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), when_busy: LockBusyPolicy::Queue }
    }
}

keywords! {
    listed
    /// The reaction of a step when another run has its lock.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LockBusyPolicy {
        /// It waits for its turn.
        #[default]
        Queue = "queue",
        /// It waits, and the runs of earlier such steps that still wait are cancelled.
        Newest = "newest",
        /// It fails.
        Refuse = "refuse",
    }
}

impl Step {
    /// Returns the paths it claims; nothing for an agent in a worktree, whose changes are merged one after another.
    pub fn claims(&self) -> impl Iterator<Item = &Template> {
        let apart = matches!(&self.work, StepWork::Agent(agent) if agent.workspace != AgentWorkspace::Shared);
        self.writes.iter().chain(&self.artifacts).filter(move |_| !apart)
    }
}

/// Paths nobody means, of which a glob covering everything matches one.
pub const UNMEANT_PATHS: [&str; 4] = ["k7q3zx", "k7q3zx.w9", "v5j1/k7q3zx.w9", "v5j1/h2/k7q3zx"];

/// Returns a path in its plainest form; `None` for a pattern: it says where files may be, not which.
pub fn claimed_path(path: &str) -> Option<String> {
    let is_pattern = path.contains(['*', '?', '[', '{', '\\']);
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    (!is_pattern && !parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::claimed_path;

    #[test]
    fn a_pattern_claims_nothing() {
        assert_eq!(claimed_path("./out//a.txt").as_deref(), Some("out/a.txt"));
        assert_eq!(claimed_path("out/").as_deref(), Some("out"));
        for pattern in ["out/*.txt", "out/?", "{a,b}", "[ab]", "", "."] {
            assert_eq!(claimed_path(pattern), None, "{pattern}");
        }
    }
}
