use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::{
    Alternative, Budget, Check, EnvVar, Escalation, Gate, OnStuck, Param, Planner, Replan, Schema,
    Step, StepIx,
};
use crate::expr::Template;
use crate::name::{EnvName, Name, PlanId, RefId, SkillName};

/// Steps and how we know they worked.
pub struct Plan {
    parts: Parts,
    index: HashMap<Name, StepIx>,
    dependents: Vec<Vec<StepIx>>,
}

/// What a plan is made of.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Its id, unique in the workspace.
    pub id: PlanId,
    /// A line for people.
    pub title: Option<String>,
    /// Typed inputs.
    pub params: Vec<Param>,
    /// Variables for every step.
    pub env: Vec<EnvVar>,
    /// Values that must not be seen.
    pub secrets: Vec<Secret>,
    /// The skills that its steps, and the plans that they use, may use; `None`: it does not say.
    pub skills: Option<Vec<SkillName>>,
    /// How steps share the machine and what a failure does.
    pub policy: Policy,
    /// The longest a run may take, `finally` steps aside.
    pub timeout: Option<Duration>,
    /// What a run may use up at most.
    pub budget: Option<Budget>,
    /// The main steps, then the `finally` steps.
    pub steps: Vec<Step>,
    /// How many of the steps are main steps.
    pub main: usize,
    /// The plan's own criteria, those of an earlier phase first.
    pub verify: Vec<Check>,
    /// Values for a plan that uses this one.
    pub outputs: Vec<PlanOutput>,
    /// The gates of the workspace, then the plan's own. They hold for every step.
    pub gates: Vec<Arc<Gate>>,
    /// What blocks lead to, where a gate does not say it itself.
    pub escalations: Vec<Escalation>,
    /// How far a run that failed is tried another way; `None`: not at all.
    pub replan: Option<Replan>,
    /// Who is asked for another way where no declared one is left; `None`: nobody.
    pub planner: Option<Planner>,
    /// What follows where no declared way is left.
    pub on_stuck: OnStuck,
    /// The prose that belongs to no step.
    pub briefing: String,
}

impl Parts {
    /// Steps without criteria of the whole; the first `main` of them are main steps.
    pub fn new(id: PlanId, steps: Vec<Step>, main: usize, policy: Policy) -> Self {
        Self {
            id,
            title: None,
            params: Vec::new(),
            env: Vec::new(),
            secrets: Vec::new(),
            skills: None,
            policy,
            timeout: None,
            budget: None,
            steps,
            main,
            verify: Vec::new(),
            outputs: Vec::new(),
            gates: Vec::new(),
            escalations: Vec::new(),
            replan: None,
            planner: None,
            on_stuck: OnStuck::default(),
            briefing: String::new(),
        }
    }
}

/// A value that a plan gives to a plan that uses it.
#[derive(Clone, Debug)]
pub struct PlanOutput {
    /// Its name.
    pub name: Name,
    /// What it must satisfy.
    pub schema: Schema,
    /// Where it comes from.
    pub value: Template,
}

/// A value that must not be seen, and where it comes from.
#[derive(Clone, Debug)]
pub struct Secret {
    /// What templates call it.
    pub name: EnvName,
    /// Where it comes from.
    pub source: SecretSource,
    /// Whether it is looked for in what is shown and kept.
    pub masked: bool,
}

/// Where a secret comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// A variable of the engine's own environment.
    Env(String),
    /// A file, relative to the workspace; one trailing line end is cut.
    File(String),
    /// What a program prints; one trailing line end is cut.
    Command(Vec<String>),
    /// An entry in the keyring of the user.
    Keyring {
        /// What it is for.
        service: String,
        /// Whose it is.
        account: String,
    },
    /// A secret of a connection of this workspace.
    Connection {
        /// The connection.
        name: PlanId,
        /// What the secret is called there.
        secret: RefId,
    },
}

/// How steps share the machine and what a failure does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How many attempts run at once.
    pub max_parallel: u32,
    /// What the failure of a step does to the others.
    pub on_failure: OnFailure,
    /// The time between asking a process to end and killing it.
    pub grace: Duration,
}

/// What the failure of a step does to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// Nothing new starts; what runs goes on to its end.
    #[default]
    Stop,
    /// Nothing new starts; what runs is cancelled.
    Cancel,
    /// Only the dependants of the failed step are skipped.
    Continue,
}

/// Why parts are no plan. A loader reports all of this with places; here it guards what comes
/// from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlan {
    /// Two steps share an id.
    #[error("two steps are called `{0}`")]
    Duplicate(Name),
    /// A dependency does not exist or crosses from main steps to `finally` steps.
    #[error("step `{0}` depends on a step that it cannot depend on")]
    Dependency(Name),
    /// Steps depend on each other in a circle.
    #[error("step `{0}` depends on itself through others")]
    Cycle(Name),
}

/// All that a plan says, in a fixed order; the rest of it follows from that.
impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Plan").field(&self.parts).finish()
    }
}

impl Plan {
    /// Makes a plan of parts.
    pub fn new(parts: Parts) -> Result<Arc<Self>, BadPlan> {
        let mut index = HashMap::with_capacity(parts.steps.len());
        let mut dependents = vec![Vec::new(); parts.steps.len()];
        for (at, step) in parts.steps.iter().enumerate() {
            let ix = StepIx(u32::try_from(at).unwrap_or(u32::MAX));
            if index.insert(step.id.clone(), ix).is_some() {
                return Err(BadPlan::Duplicate(step.id.clone()));
            }
            for needed in &step.depends_on {
                let same_part = (needed.at() < parts.main) == (at < parts.main);
                match dependents.get_mut(needed.at()) {
                    Some(list) if same_part => list.push(ix),
                    _ => return Err(BadPlan::Dependency(step.id.clone())),
                }
            }
        }
        let plan = Self {
            parts,
            index,
            dependents,
        };
        match plan.order().len() {
            sorted if sorted == plan.parts.steps.len() => Ok(Arc::new(plan)),
            _ => Err(BadPlan::Cycle(plan.first_unsorted())),
        }
    }

    /// This plan with some of its steps done in other ways, by their number. Its graph, its
    /// criteria and its outputs are the same.
    #[must_use]
    pub fn in_ways(&self, ways: &BTreeMap<u32, u32>) -> Arc<Self> {
        let mut parts = self.parts.clone();
        for (step, way) in ways {
            let own = parts.steps.get_mut(*step as usize);
            let Some(own) = own.filter(|_| *way > 0) else {
                continue;
            };
            if let Some(way) = own.way(*way as usize) {
                let alternatives = own.alternatives.clone();
                *own = Step {
                    alternatives,
                    ..way.clone()
                };
            }
        }
        Arc::new(Self {
            parts,
            index: self.index.clone(),
            dependents: self.dependents.clone(),
        })
    }

    /// This plan with further ways to do some of its steps, by their number, behind those that are
    /// declared.
    #[must_use]
    pub fn with_alternatives(&self, more: Vec<(u32, Alternative)>) -> Arc<Self> {
        let mut parts = self.parts.clone();
        for (step, alternative) in more {
            if let Some(own) = parts.steps.get_mut(step as usize) {
                own.alternatives.push(alternative);
            }
        }
        Arc::new(Self {
            parts,
            index: self.index.clone(),
            dependents: self.dependents.clone(),
        })
    }

    /// This plan without its steps: its own criteria alone, as they stand. What only steps can
    /// use goes with them: outputs, other ways, and who is asked for those.
    #[must_use]
    pub fn checks_only(&self) -> Arc<Self> {
        let parts = Parts {
            steps: Vec::new(),
            main: 0,
            outputs: Vec::new(),
            replan: None,
            planner: None,
            on_stuck: OnStuck::default(),
            ..self.parts.clone()
        };
        Arc::new(Self {
            parts,
            index: HashMap::new(),
            dependents: Vec::new(),
        })
    }

    /// The steps in an order in which every step follows those it depends on, else as written.
    /// Main steps come before `finally` steps.
    pub fn order(&self) -> Vec<StepIx> {
        let mut left: Vec<usize> = self
            .parts
            .steps
            .iter()
            .map(|s| s.depends_on.len())
            .collect();
        let mut ready: std::collections::BTreeSet<StepIx> = self
            .indices()
            .filter(|ix| left.get(ix.at()) == Some(&0))
            .collect();
        let mut order = Vec::with_capacity(left.len());
        while let Some(ix) = ready.pop_first() {
            order.push(ix);
            for dependent in self.dependents(ix) {
                if let Some(count) = left.get_mut(dependent.at()) {
                    *count -= 1;
                    if *count == 0 {
                        ready.insert(*dependent);
                    }
                }
            }
        }
        order
    }

    fn first_unsorted(&self) -> Name {
        let sorted: std::collections::BTreeSet<StepIx> = self.order().into_iter().collect();
        let unsorted = self
            .indices()
            .find(|ix| !sorted.contains(ix))
            .unwrap_or(StepIx(0));
        self.step(unsorted).id.clone()
    }

    fn indices(&self) -> impl Iterator<Item = StepIx> + use<> {
        (0..u32::try_from(self.parts.steps.len()).unwrap_or(u32::MAX)).map(StepIx)
    }

    /// The id of the plan.
    pub fn id(&self) -> &PlanId {
        &self.parts.id
    }

    /// What the plan is made of.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// All steps: the main steps, then the `finally` steps.
    pub fn steps(&self) -> &[Step] {
        &self.parts.steps
    }

    /// A step of this plan.
    ///
    /// # Panics
    /// If the index is of another plan.
    pub fn step(&self, ix: StepIx) -> &Step {
        &self.parts.steps[ix.at()]
    }

    /// A step by its id.
    pub fn find(&self, id: &str) -> Option<StepIx> {
        self.index.get(id).copied()
    }

    /// Whether a step belongs to `finally`.
    pub fn is_finally(&self, ix: StepIx) -> bool {
        ix.at() >= self.parts.main
    }

    /// Whether there are steps that run last, whatever happened.
    pub fn has_finally(&self) -> bool {
        self.parts.main < self.parts.steps.len()
    }

    /// The steps that depend on a step.
    pub fn dependents(&self, ix: StepIx) -> &[StepIx] {
        self.dependents.get(ix.at()).map_or(&[], Vec::as_slice)
    }
}
