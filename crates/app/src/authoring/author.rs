use std::path::Path;
use std::sync::Arc;

use super::draft::{DraftRules, RejectedDraft};
use super::{DraftPlan, PlanFile};
use crate::config::WorkspaceConfig;
use crate::{
    Caller, CliExitCode, CommandError, Workspace, load, normalize_path, relative_path, require_utf8,
};
use wf_base::name::{Name, PlanId};
use wf_core::agent::authoring::{
    MemoryCalibration, PlanRepairs, PlanRevision, PlanningContext, SkillSummary, TaskSpec, append_mistake,
    plan_question, read_task, revision_question, task_question,
};
use wf_core::agent::{ModelReply, ModelRequest, TokenUsage};
use wf_engine::{Cassette, ModelSurroundings, WorkspaceModels};
use wf_lang::{DiskFiles, GATES, SpecFileSource as _};
use wf_model::{ModelChoice, ModelDefinition, Money};
use wf_store::{MegramSelection, StoreError, StoreReader};

/// The role of the model that writes plans.
const PLANNER: &str = "planner";

/// The role of the model that makes tasks of wishes; the planner if it is not defined.
const PERCEIVER: &str = "perceiver";

/// The resources that the models used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuthoringUsage {
    /// The number of calls.
    pub calls: usize,
    /// Their tokens.
    pub tokens: TokenUsage,
    /// Their cost.
    pub cost: Money,
}

/// Whoever writes a plan: the models of a workspace, and what they are told of it.
pub struct PlanAuthor<'a> {
    caller: &'a dyn Caller,
    workspace: Workspace,
    config: WorkspaceConfig,
    /// The path of the plan, relative to the workspace.
    path: String,
    skills: Vec<SkillSummary>,
    models: WorkspaceModels,
    runtime: tokio::runtime::Runtime,
    usage: AuthoringUsage,
}

impl<'a> PlanAuthor<'a> {
    /// Prepares the writing of a plan to a path, in whose workspace it is. `skills` are those that it may use.
    pub fn new(
        caller: &'a dyn Caller,
        path: &Path,
        skills: Vec<SkillSummary>,
        cassette: Option<Cassette>,
    ) -> Result<Self, CommandError> {
        let host = caller.host();
        let path = normalize_path(&host.cwd().join(path));
        require_utf8(&path)?;
        let workspace = host.workspace_of(path.parent().unwrap_or(&path));
        let (config, _) = load::configuration(caller, &DiskFiles::new(&workspace.root), &workspace)?;
        let around = ModelSurroundings {
            models: Arc::clone(&config.models),
            host: Arc::new(host.vars()),
            env_pass: config.env_pass.clone(),
            root: workspace.root.clone(),
            state: workspace.state.clone(),
            clock: host.clock(),
        };
        Ok(Self {
            caller,
            path: workspace.name(&path),
            workspace,
            config,
            skills,
            models: WorkspaceModels::new(around, cassette),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
            usage: AuthoringUsage::default(),
        })
    }

    /// Returns the resources used so far.
    pub fn usage(&self) -> AuthoringUsage {
        self.usage
    }

    /// Makes a task of the words of a user.
    pub fn perceive(&mut self, wish: &str) -> Result<TaskSpec, CommandError> {
        require_wish(wish)?;
        // Without a planner, a task is of no use.
        let planner = self.model(PLANNER)?;
        let model = self.model(PERCEIVER).unwrap_or(planner);
        let mut request = task_question(wish);
        let mut is_repaired = false;
        loop {
            let reply = self.call(&model, &request)?;
            let mistake = match read_task(&reply.text, wish) {
                Ok(task) => return Ok(task),
                Err(mistake) => mistake,
            };
            if is_repaired {
                let message = format!("model `{}` did not understand the wish: {mistake}", model.name);
                let failure = CommandError::new(CliExitCode::RunFailed, message);
                return Err(failure.hint("say it in other words, or give the role `perceiver` another model"));
            }
            is_repaired = true;
            append_mistake(&mut request, reply, &mistake);
        }
    }

    /// Writes a plan for a task.
    pub fn write(&mut self, task: &TaskSpec) -> Result<DraftPlan, CommandError> {
        let context = self.context(&format!("{} {}", task.intent, task.raw_input))?;
        self.plan(plan_question(task, &context), task.plan_id().as_ref(), &context.calibration)
    }

    /// Writes another version of a plan. One that changes nothing is an error.
    pub fn revise(&mut self, old: &PlanFile, wish: &str) -> Result<DraftPlan, CommandError> {
        require_wish(wish)?;
        let context = self.context(&format!("{wish} {}", old.text))?;
        let revision = PlanRevision { plan: &old.text, wish };
        let draft = self.plan(revision_question(revision, &context), None, &context.calibration)?;
        if draft.text.trim_end() == old.text.trim_end() {
            let shown = relative_path(&old.path, self.caller.host().cwd());
            let message = format!("the planner changed nothing in {shown}");
            let hint = "say more exactly what is to be different";
            return Err(CommandError::new(CliExitCode::RunFailed, message).hint(hint));
        }
        Ok(draft)
    }

    /// Asks the planner until its plan is accepted, or a mistake was not repaired.
    fn plan(
        &mut self,
        mut request: ModelRequest,
        id: Option<&PlanId>,
        calibration: &MemoryCalibration,
    ) -> Result<DraftPlan, CommandError> {
        let model = self.model(PLANNER)?;
        let mut repairs = PlanRepairs::default();
        loop {
            let reply = self.call(&model, &request)?;
            let rules = DraftRules {
                host: self.caller.host(),
                workspace: &self.workspace,
                config: &self.config,
                path: &self.path,
                id,
                calibration,
            };
            let rejected = match rules.judge(&reply) {
                Ok(draft) => return Ok(draft),
                Err(rejected) => rejected,
            };
            if !repairs.allow(&rejected.mistake) {
                return Err(self.refuse(&model, &rejected));
            }
            append_mistake(&mut request, reply, &rejected.mistake.to_string());
        }
    }

    /// Reports a plan that is not accepted.
    fn refuse(&self, model: &ModelDefinition, rejected: &RejectedDraft) -> CommandError {
        let name = &model.name;
        if rejected.files.is_empty() {
            let message = format!("model `{name}` wrote no plan that is accepted: {}", rejected.mistake);
            return CommandError::new(CliExitCode::Invalid, message).hint("nothing was written; try again");
        }
        self.caller.diagnostics(&rejected.files);
        let message = format!("the plan that model `{name}` wrote has errors, also after one repair");
        CommandError::new(CliExitCode::Invalid, message)
            .hint("nothing was written; try again, or give the role `planner` another model")
    }

    /// Returns what a planner is told of the workspace.
    fn context(&self, task: &str) -> Result<PlanningContext, CommandError> {
        let files = DiskFiles::new(&self.workspace.root);
        let gates = files.names(GATES).into_iter();
        let gates = gates.filter_map(|name| name.strip_suffix(".md").map(str::to_owned));
        let megrams = match StoreReader::open(&self.workspace.state) {
            Ok(reader) => reader.memory(&MegramSelection::All)?,
            Err(StoreError::NoState(_)) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(PlanningContext {
            roles: self.models.table().roles.keys().map(Name::to_string).collect(),
            gates: gates.collect(),
            skills: self.skills.clone(),
            calibration: MemoryCalibration::select(&megrams, task, self.caller.host().now()),
        })
    }

    /// Returns the model of a role.
    fn model(&self, role: &str) -> Result<ModelDefinition, CommandError> {
        let table = self.models.table();
        let role_name = Name::parse(role).ok().map(ModelChoice::Role);
        if let Some(model) = role_name.and_then(|choice| table.find(&choice)) {
            return Ok(model.clone());
        }
        let failure =
            CommandError::new(CliExitCode::Usage, format!("wf.yaml gives no model to the role `{role}`"));
        Err(match table.models.keys().next() {
            Some(known) => failure.hint(format!("add it to wf.yaml: `roles: {{{role}: {known}}}`")),
            None => failure.hint(format!(
                "add to wf.yaml: `models: {{NAME: {{api: …, model: …}}}}` and `roles: {{{role}: NAME}}`; see \
                 docs/agents.md"
            )),
        })
    }

    fn call(&mut self, model: &ModelDefinition, request: &ModelRequest) -> Result<ModelReply, CommandError> {
        let result = self.runtime.block_on(self.models.call(model, request));
        let AuthoringUsage { calls, tokens, cost } = &mut self.usage;
        *calls = calls.saturating_add(1);
        tokens.input = tokens.input.saturating_add(result.usage.input);
        tokens.cached_input = tokens.cached_input.saturating_add(result.usage.cached_input);
        tokens.output = tokens.output.saturating_add(result.usage.output);
        *cost = cost.plus(result.cost);
        result.outcome.map_err(|error| CommandError::new(CliExitCode::RunFailed, error.to_string()))
    }
}

/// Fails if the user wants nothing.
fn require_wish(wish: &str) -> Result<(), CommandError> {
    if wish.trim().is_empty() {
        let failure = CommandError::new(CliExitCode::Usage, "the wish is empty");
        return Err(failure.hint("say what is to be done: wf plan \"sort the invoices by month\""));
    }
    Ok(())
}
