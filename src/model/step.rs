use std::sync::Arc;
use std::time::Duration;

use super::{Allow, Check, ClassRule, EnvVar, Gate, Limits, Loops, Object, Retry, Schema, Work};
use crate::expr::{Expr, Template};
use crate::name::Name;

/// The place of a step in its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepIx(pub u32);

impl StepIx {
    /// For indexing.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// One unit of work. What few steps say is kept apart: plans have many steps.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its id, unique in the plan.
    pub id: Name,
    /// A line for people.
    pub title: Option<String>,
    /// The steps that must end first.
    pub depends_on: Vec<StepIx>,
    /// Whether to run at all, asked when the dependencies have ended.
    pub when: Option<Box<Expr>>,
    /// Over what it is repeated.
    pub fan: Fan,
    /// How many items may run at once; `None`: as many as the plan allows.
    pub max_parallel: Option<u32>,
    /// What is executed.
    pub work: Work,
    /// Variables for the work, after those of the plan.
    pub env: Vec<EnvVar>,
    /// Where the work runs, relative to the workspace; `None`: its root.
    pub cwd: Option<Template>,
    /// The longest an attempt may take.
    pub timeout: Option<Duration>,
    /// The longest an attempt may wait for its turn once the step is ready.
    pub queue_timeout: Option<Duration>,
    /// When a failed attempt is followed by another.
    pub retry: Arc<Retry>,
    /// Whether an interrupted attempt may simply be repeated.
    pub idempotent: bool,
    /// The criteria of its result, those of an earlier phase first.
    pub verify: Vec<Check>,
    /// How often `inspect` and `test` may send the work back.
    pub loops: Loops,
    /// The values it must give.
    pub outputs: Vec<Output>,
    /// The outputs that are declared to come from outside, whatever makes them.
    pub external: Vec<Name>,
    /// Globs of the files it must leave, relative to the workspace.
    pub artifacts: Vec<Template>,
    /// Globs of further files that it changes or makes without a sandbox, relative to the workspace.
    pub writes: Vec<Template>,
    /// What its result depends on, if it may be reused.
    pub cache: Option<Box<Cache>>,
    /// The named lock held while it runs.
    pub concurrency: Option<String>,
    /// What its failure means for the run.
    pub on_error: OnError,
    /// What it may reach; `None`: it runs without a sandbox.
    pub allow: Option<Box<Allow>>,
    /// How much it may use in its sandbox.
    pub limits: Limits,
    /// What decides the class of a failure before the built-in table does.
    pub classify: Vec<ClassRule>,
    /// Its own gates, which are asked after those of the plan.
    pub gates: Vec<Arc<Gate>>,
    /// What does the work, if the plan says so: see [`Step::tool`].
    pub tool: Option<String>,
    /// What the work is done on, if the plan says so.
    pub target: Option<String>,
    /// Other ways to do it, in the order of preference.
    pub alternatives: Vec<Alternative>,
    /// The prose of its section.
    pub briefing: Option<String>,
}

impl Step {
    /// A step that does its work once and promises nothing more.
    pub fn new(id: Name, work: Work) -> Self {
        Self {
            id,
            title: None,
            depends_on: Vec::new(),
            when: None,
            fan: Fan::Once,
            max_parallel: None,
            work,
            env: Vec::new(),
            cwd: None,
            timeout: None,
            queue_timeout: None,
            retry: Arc::default(),
            idempotent: false,
            verify: Vec::new(),
            loops: Loops::default(),
            outputs: Vec::new(),
            external: Vec::new(),
            artifacts: Vec::new(),
            writes: Vec::new(),
            cache: None,
            concurrency: None,
            on_error: OnError::Fail,
            allow: None,
            limits: Limits::default(),
            classify: Vec::new(),
            gates: Vec::new(),
            tool: None,
            target: None,
            alternatives: Vec::new(),
            briefing: None,
        }
    }

    /// How many ways there are to do it: as it is written, and its alternatives.
    pub fn ways(&self) -> usize {
        self.alternatives.len() + 1
    }

    /// The name of a way; `None` for the step as it is written, which is way 0, and for no way.
    pub fn way_id(&self, way: usize) -> Option<&Name> {
        let alternative = self.alternatives.get(way.checked_sub(1)?);
        alternative.map(|alternative| &alternative.id)
    }

    /// The step as it is done in a way: 0 is as it is written.
    pub fn way(&self, way: usize) -> Option<&Self> {
        match way.checked_sub(1) {
            None => Some(self),
            Some(at) => self.alternatives.get(at).map(|one| one.step.as_ref()),
        }
    }

    /// What does the work in a way. Where the plan does not say it, each executor is a tool of its
    /// own, named after the step and the alternative: `fetch`, `fetch.from_cache`.
    pub fn tool(&self, way: usize) -> String {
        let said = self.way(way).and_then(|step| step.tool.clone());
        said.unwrap_or_else(|| match self.alternatives.get(way.wrapping_sub(1)) {
            Some(own) if own.replaces => format!("{}.{}", self.id, own.id),
            _ => self.tool.clone().unwrap_or_else(|| self.id.to_string()),
        })
    }

    /// What the work is done on in a way, if the plan says so.
    pub fn target(&self, way: usize) -> Option<&str> {
        self.way(way)?.target.as_deref()
    }
}

/// Another declared way to do a step.
#[derive(Clone, Debug)]
pub struct Alternative {
    /// Its id, unique in the step.
    pub id: Name,
    /// Whether it does the work with another executor.
    pub replaces: bool,
    /// The step as it is done in this way; it has no alternatives.
    pub step: Arc<Step>,
}

/// Over what a step is repeated.
#[derive(Clone, Debug)]
pub enum Fan {
    /// Nothing: it runs once.
    Once,
    /// The items of a list that a run computes.
    Each(Expr),
    /// The items of a list that the plan gives.
    List(Vec<serde_json::Value>),
    /// The combinations of a matrix, each an object from axis to value, in order.
    Matrix(Vec<Object>),
}

/// A value that a step must give.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: Name,
    /// What it must satisfy.
    pub schema: Schema,
}

/// What a step's result depends on and consists of.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Globs of the files read, relative to the workspace.
    pub inputs: Vec<String>,
    /// Globs of the files written, which a reuse restores.
    pub outputs: Vec<Template>,
}

/// What the failure of a step means for the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The run fails.
    #[default]
    Fail,
    /// The failure is shown; dependants and the run go on as if it had succeeded.
    Continue,
}
