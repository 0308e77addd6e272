use std::path::Path;

use super::{
    DraftPlan, PlanFile,
    desk::PlanningDesk,
    draft::{DraftRules, RejectedDraft},
};
use crate::{
    Caller, CliExitCode, CommandError, Workspace, config::WorkspaceConfig, normalize_path, relative_path,
    require_utf8, specs::load,
};
use wf_base::{name::PlanId, remedy::UserAction};
use wf_core::{
    agent::{
        ModelRequest,
        authoring::{
            AuthoringUsage, CalibrationTask, MemoryCalibration, PlanRepairs, PlanRevision, PlanningBudget,
            PlanningContext, PlanningResult, SkillSummary, TaskSpec, append_mistake, plan_question,
            revision_question,
        },
    },
    memory::MegramTags,
};
use wf_engine::Cassette;
use wf_lang::{DiskFiles, GATES, SpecFileSource as _};
use wf_model::ModelDefinition;
use wf_store::{MegramSelection, StoreReader, allow_no_state};

/// The role of the model writing plans.
pub(super) const PLANNER: &str = "planner";

/// The role of the model making tasks of wishes; the planner if it is not defined.
pub(super) const PERCEIVER: &str = "perceiver";

/// The settings of a request for a plan.
pub struct AuthoringSettings {
    /// The skills the plan may use.
    pub skills: Vec<SkillSummary>,
    /// The cassette for the calls of models, recording or replaying, if there is one.
    pub cassette: Option<Cassette>,
    /// The limits the user sets; the others are those of the configuration.
    pub budget: PlanningBudget,
    /// True if the user may be asked.
    pub may_ask: bool,
}

/// Whoever writes a plan: the models of a workspace, and what they are told of it.
pub struct PlanAuthor<'a> {
    pub(super) caller: &'a dyn Caller,
    workspace: Workspace,
    config: WorkspaceConfig,
    /// The path of the plan, relative to the workspace.
    path: String,
    skills: Vec<SkillSummary>,
    pub(super) desk: PlanningDesk<'a>,
    pub(super) may_ask: bool,
    /// The wish, as the perceiver understood it.
    pub(super) intent: Option<String>,
}

impl<'a> PlanAuthor<'a> {
    /// Prepares the writing of a plan to a path, in the workspace of that.
    pub fn new(
        caller: &'a dyn Caller,
        path: &Path,
        settings: AuthoringSettings,
    ) -> Result<Self, CommandError> {
        let host = caller.host();
        let path = normalize_path(&host.cwd().join(path));
        require_utf8(&path)?;
        let workspace = host.workspace_of(path.parent().unwrap_or(&path));
        let (config, _) = load::configuration(caller, &DiskFiles::new(&workspace.root), &workspace)?;
        let AuthoringSettings { skills, cassette, budget, may_ask } = settings;
        let mut desk = PlanningDesk::new(caller, &workspace, &config, cassette)?;
        desk.meter.budget = budget.or(config.planning);
        let path = workspace.name(&path);
        Ok(Self { caller, path, workspace, config, skills, desk, may_ask, intent: None })
    }

    /// Returns the resources used so far.
    pub fn usage(&self) -> AuthoringUsage {
        self.desk.meter.usage
    }

    /// Records the end of the request: what was done with the plan, or why there is none.
    pub fn end(&mut self, outcome: &Result<String, CommandError>) -> Result<(), CommandError> {
        let is_accepted = outcome.is_ok();
        let result = outcome.as_ref().unwrap_or_else(|error| &error.message).clone();
        self.desk.end(PlanningResult { is_accepted, intent: self.intent.take(), result })
    }

    /// Writes a plan for a task.
    pub fn write(&mut self, task: &TaskSpec) -> Result<DraftPlan, CommandError> {
        let context = self.context(&format!("{} {}", task.intent, task.raw_input))?;
        self.plan(plan_question(task, &context), task.plan_id().as_ref(), &context.calibration)
    }

    /// Writes another version of a plan. One without changes is an error.
    pub fn revise(&mut self, old_file: &PlanFile, wish: &str) -> Result<DraftPlan, CommandError> {
        require_wish(wish)?;
        self.desk.model(PLANNER)?;
        let context = self.context(&format!("{wish} {}", old_file.text))?;
        self.desk.begin(wish, Some(relative_path(&old_file.path, &self.workspace.root)))?;
        let revision = PlanRevision { plan: &old_file.text, wish };
        let draft = self.plan(revision_question(revision, &context), None, &context.calibration)?;
        if draft.text.trim_end() == old_file.text.trim_end() {
            let shown = relative_path(&old_file.path, self.caller.host().cwd());
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
        let model = self.desk.model(PLANNER)?;
        let mut repairs = PlanRepairs::default();
        loop {
            let reply = self.desk.call(PLANNER, &model, &request)?;
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

    /// Reports a rejected plan.
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

    /// Returns the text for a planner about the workspace.
    fn context(&self, task: &str) -> Result<PlanningContext, CommandError> {
        let files = DiskFiles::new(&self.workspace.root);
        let gates = files.names(GATES).into_iter();
        let gates = gates.filter_map(|name| name.strip_suffix(".md").map(str::to_owned));
        let reader = allow_no_state(StoreReader::open(&self.workspace.state))?;
        let megrams =
            reader.map_or_else(|| Ok(Vec::new()), |reader| reader.memory().megrams(&MegramSelection::All))?;
        let task = CalibrationTask { words: task, intent: Some(&MegramTags::slug(task)) };
        Ok(PlanningContext {
            roles: self.desk.roles(),
            gates: gates.collect(),
            skills: self.skills.clone(),
            calibration: MemoryCalibration::select(&megrams, &task, self.caller.host().now()),
        })
    }
}

/// Fails if the user wants nothing.
pub(super) fn require_wish(wish: &str) -> Result<(), CommandError> {
    if wish.trim().is_empty() {
        let error = CommandError::new(CliExitCode::Usage, "the wish is empty");
        return Err(error.remedy("say what is to be done: ", UserAction::DraftPlan));
    }
    Ok(())
}
