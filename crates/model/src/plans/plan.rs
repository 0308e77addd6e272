use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use serde::Serialize;
use wf_base::{
    keywords,
    name::{Name, PlanId, SkillName},
};

use crate::{
    agents::interaction::{InteractionMode, WorkItemType},
    checks::{
        check::{Check, show_checks},
        escalation,
        escalation::Escalation,
        gate,
        gate::Gate,
    },
    costs::budget::RunBudget,
    expr::Template,
    json::schema::ValueSchema,
    plans::{
        param::{PlanParam, show_params},
        planner,
        planner::{OnStuck, Planner},
        replan,
        replan::ReplanSettings,
        step::{Alternative, Step, StepIx},
        suggestion::{SuggestionSource, UndoPlan},
    },
    programs::script::{EnvVar, SecretDeclaration},
    summary::{show_plan_outputs, show_secrets, time_limit},
};

/// Steps and the criteria of their success.
pub struct Plan {
    parts: PlanParts,
    index: HashMap<Name, StepIx>,
    dependents: Vec<Vec<StepIx>>,
}

/// The parts of a plan.
#[derive(Clone, Debug)]
pub struct PlanParts {
    /// Its id, unique in the workspace.
    pub id: PlanId,
    /// A one-line title.
    pub title: Option<String>,
    /// The text by which memory knows the purpose of a run; `None`: the title.
    pub intent: Option<Template>,
    /// Typed inputs.
    pub params: Vec<PlanParam>,
    /// Variables for every step.
    pub env: Vec<EnvVar>,
    pub secrets: Vec<SecretDeclaration>,
    /// The skills its steps and nested plans may use; `None`: not declared.
    pub skills: Option<Vec<SkillName>>,
    /// The files that are data, as globs: approvals do not bind their content, unless they are programs.
    pub data: Vec<String>,
    /// The policy for parallelism and failures.
    pub policy: PlanPolicy,
    /// The maximum time of a run, without `finally` steps.
    pub timeout: Option<Duration>,
    /// The resource limits of a run.
    pub budget: Option<RunBudget>,
    /// The main steps, then the `finally` steps.
    pub steps: Vec<Step>,
    /// The number of main steps.
    pub main: usize,
    /// The plan's own criteria, those of an earlier phase first.
    pub verify: Vec<Check>,
    /// Values for a plan using this one.
    pub outputs: Vec<PlanOutput>,
    /// The gates of the workspace, then the plan's own. They apply to every step.
    pub gates: Vec<Arc<Gate>>,
    /// The escalations after blocks, for gates that do not name their own.
    pub escalations: Vec<Escalation>,
    /// The limits on replanning after a run failed; `None`: no replanning.
    pub replan: Option<ReplanSettings>,
    /// The planner asked for an alternative when no declared one is left; `None`: none.
    pub planner: Option<Planner>,
    /// The reaction when no declared alternative is left.
    pub on_stuck: OnStuck,
    /// The way a suspended run goes on once what it waits for is answered or over.
    pub resume: ResumeMode,
    /// The plan undoing what a run did; `None`: none.
    pub undo: Option<Box<UndoPlan>>,
    /// The output where its runs suggest what may be done next; `None`: none.
    pub suggests: Option<Box<SuggestionSource>>,
    /// The kind of work it says to be.
    pub work_type: Option<WorkItemType>,
    /// The way its agents deal with people; `None`: as their briefings say.
    pub interaction_mode: Option<InteractionMode>,
    /// The prose belonging to no step.
    pub briefing: String,
}

view! { parts: PlanParts in Work {
    own params = show_params,
    plain env,
    own secrets = show_secrets,
    plain skills,
    grant data,
    below policy,
    most timeout in Effort = time_limit(*timeout); timeout.is_none(),
    below budget,
    own verify = show_checks,
    own outputs = show_plan_outputs,
    own gates = gate::show_gate_names,
    own escalations = escalation::show_escalations,
    whole replan = replan::show_replan,
    whole planner = planner::show_planner,
    below undo,
    below suggests,
} aside id, title, intent, steps, main, on_stuck, resume, work_type, interaction_mode, briefing }

impl PlanParts {
    /// Returns steps without criteria for the whole; the first `main` of them are main steps.
    pub fn new(id: PlanId, steps: Vec<Step>, main: usize, policy: PlanPolicy) -> Self {
        Self {
            id,
            title: None,
            intent: None,
            params: Vec::new(),
            env: Vec::new(),
            secrets: Vec::new(),
            skills: None,
            data: Vec::new(),
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
            resume: ResumeMode::default(),
            undo: None,
            suggests: None,
            work_type: None,
            interaction_mode: None,
            briefing: String::new(),
        }
    }
}

/// An output of a plan, for a plan using it.
#[derive(Clone, Debug, Serialize)]
pub struct PlanOutput {
    pub name: Name,
    /// The schema it must satisfy.
    pub schema: ValueSchema,
    pub value: Template,
}

/// The policy for parallelism and failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanPolicy {
    /// The maximum number of parallel attempts.
    pub max_parallel: u32,
    /// The effect of a step's failure on the others.
    pub on_failure: OnStepFailure,
    /// The time between the request to terminate a process and killing it.
    pub grace: Duration,
}

view! { policy: PlanPolicy in Effort {
    most max_parallel,
    plain on_failure = on_failure.as_str(),
    plain grace,
} }

keywords! {
    listed
    /// The effect of a step's failure on the others.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum OnStepFailure {
        /// Nothing new starts; running attempts finish.
        #[default]
        Stop = "stop",
        /// Nothing new starts; running attempts are cancelled.
        Cancel = "cancel",
        /// Only the dependants of the failed step are skipped.
        Continue = "continue",
    }
}

/// The reason why parts are not a valid plan: a loader reports it with locations, this guards against other sources.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Two steps share an id.
    #[error("duplicate step `{0}`")]
    Duplicate(Name),
    /// A dependency does not exist or crosses from main steps to `finally` steps.
    #[error("step `{0}` has an invalid dependency")]
    Dependency(Name),
    /// Steps depend on each other in a circle.
    #[error("step `{0}` is part of a dependency cycle")]
    Cycle(Name),
}

/// The complete contents of a plan, in a fixed order; the rest of it follows from that.
impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Plan").field(&self.parts).finish()
    }
}

impl Plan {
    pub fn new(parts: PlanParts) -> Result<Arc<Self>, PlanError> {
        let mut index = HashMap::with_capacity(parts.steps.len());
        let mut dependents = vec![Vec::new(); parts.steps.len()];
        for (at, step) in parts.steps.iter().enumerate() {
            let ix = StepIx(u32::try_from(at).unwrap_or(u32::MAX));
            if index.insert(step.id.clone(), ix).is_some() {
                return Err(PlanError::Duplicate(step.id.clone()));
            }
            for needed in &step.depends_on {
                let same_part = (needed.index() < parts.main) == (at < parts.main);
                match dependents.get_mut(needed.index()) {
                    Some(list) if same_part => list.push(ix),
                    _ => return Err(PlanError::Dependency(step.id.clone())),
                }
            }
        }
        let plan = Self { parts, index, dependents };
        match plan.order().len() {
            sorted if sorted == plan.parts.steps.len() => Ok(Arc::new(plan)),
            _ => Err(PlanError::Cycle(plan.first_unsorted())),
        }
    }

    /// Returns this plan with alternatives chosen for some of its steps, by their number; all else is the same.
    #[must_use]
    pub fn with_chosen_alternatives(&self, ways: &BTreeMap<u32, u32>) -> Arc<Self> {
        let mut parts = self.parts.clone();
        for (step, way) in ways {
            let own = parts.steps.get_mut(*step as usize);
            let Some(own) = own.filter(|_| *way > 0) else {
                continue;
            };
            if let Some(way) = own.with_alternative(*way as usize) {
                let alternatives = own.alternatives.clone();
                *own = Step { alternatives, ..way.clone() };
            }
        }
        Arc::new(Self { parts, index: self.index.clone(), dependents: self.dependents.clone() })
    }

    /// Returns this plan with further alternatives for some of its steps, by their number, after the declared ones.
    #[must_use]
    pub fn with_alternatives(&self, more: Vec<(u32, Alternative)>) -> Arc<Self> {
        let mut parts = self.parts.clone();
        for (step, alternative) in more {
            if let Some(own) = parts.steps.get_mut(step as usize) {
                own.alternatives.push(alternative);
            }
        }
        Arc::new(Self { parts, index: self.index.clone(), dependents: self.dependents.clone() })
    }

    /// True if a step consults a planner after failed attempts.
    pub fn guides_agents(&self) -> bool {
        let planner = self.parts.planner.as_ref();
        self.steps().iter().any(|step| step.on_stuck.guides(planner))
    }

    /// Returns the plans its steps use or may start, in any alternative.
    pub fn plans_used(&self) -> impl Iterator<Item = &Arc<Self>> {
        self.steps().iter().flat_map(Step::ways).flat_map(|way| way.work.plans_used())
    }

    /// Returns this plan without its steps and all that needs them: outputs, alternatives, the planner, `undo`, `suggests`.
    #[must_use]
    pub fn checks_only(&self) -> Arc<Self> {
        let parts = PlanParts {
            steps: Vec::new(),
            main: 0,
            outputs: Vec::new(),
            replan: None,
            planner: None,
            on_stuck: OnStuck::default(),
            undo: None,
            suggests: None,
            ..self.parts.clone()
        };
        Arc::new(Self { parts, index: HashMap::new(), dependents: Vec::new() })
    }

    /// Returns the steps after those they depend on, else as written; main steps before `finally` steps.
    pub fn order(&self) -> Vec<StepIx> {
        let mut left: Vec<usize> = self.parts.steps.iter().map(|s| s.depends_on.len()).collect();
        let mut ready: BTreeSet<StepIx> =
            self.indices().filter(|ix| left.get(ix.index()) == Some(&0)).collect();
        let mut order = Vec::with_capacity(left.len());
        while let Some(ix) = ready.pop_first() {
            order.push(ix);
            for dependent in self.dependents(ix) {
                if let Some(count) = left.get_mut(dependent.index()) {
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
        let sorted: BTreeSet<StepIx> = self.order().into_iter().collect();
        let unsorted = self.indices().find(|ix| !sorted.contains(ix)).unwrap_or(StepIx(0));
        self.step(unsorted).id.clone()
    }

    fn indices(&self) -> impl Iterator<Item = StepIx> + use<> {
        (0..u32::try_from(self.parts.steps.len()).unwrap_or(u32::MAX)).map(StepIx)
    }

    pub fn id(&self) -> &PlanId {
        &self.parts.id
    }

    pub fn parts(&self) -> &PlanParts {
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
        &self.parts.steps[ix.index()]
    }

    pub fn find(&self, id: &str) -> Option<StepIx> {
        self.index.get(id).copied()
    }

    /// True if a step belongs to `finally`.
    pub fn is_finally(&self, ix: StepIx) -> bool {
        ix.index() >= self.parts.main
    }

    /// True if there are `finally` steps, which run last in any case.
    pub fn has_finally(&self) -> bool {
        self.parts.steps.iter().skip(self.parts.main).any(|step| !step.on_escalation)
    }

    pub fn dependents(&self, ix: StepIx) -> &[StepIx] {
        self.dependents.get(ix.index()).map_or(&[], Vec::as_slice)
    }

    /// The steps depending on a step, directly or through others, in the order of the plan.
    pub fn downstream(&self, ix: StepIx) -> BTreeSet<StepIx> {
        let (mut steps, mut next) = (BTreeSet::new(), vec![ix]);
        while let Some(ix) = next.pop() {
            next.extend(self.dependents(ix).iter().filter(|later| steps.insert(**later)));
        }
        steps
    }
}

keywords! {
    listed
    /// The way a suspended run of a plan goes on once what it waits for is answered or over.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ResumeMode {
        /// A process of `wf` that notices it resumes the run.
        #[default]
        Automatic = "automatic",
        /// A person resumes it.
        Manual = "manual",
    }
}
