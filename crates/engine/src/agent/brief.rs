//! The beginning of an agent: its model, its tools, its servers, and the conversation it is given or continues.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde_json::Value;
use tokio::sync::watch;

use wf_core::{
    agent::{
        BriefingParts, ModelRequest, PriorConversation, ToolDefinition, authoring::MemoryCalibration,
        dispatch_definition, skill_definition, tool_definition,
    },
    machine::{AgentBriefing, AgentRecord, InputKind, ModelLimits, WorkExit},
};
use wf_exec::{
    StopLevel, WorkError,
    log::{self, LogTarget, LogWriter},
    process::ProcessCommand,
    sandbox::WorkspaceLayer,
};
use wf_model::{
    AgentTool, AgentWork, JsonObject, ModelChoice, ModelDefinition, StepWork, expr::EvalError, taint::taints,
};

use super::{
    client::ClientSession,
    compaction::compactor,
    conversation::{ContinuedConversation, prior_conversation},
    journal::AgentLog,
    mcp::{AgentServers, ServerPlace, server_limits},
    mode::AgentMode,
    session::{AgentDialogue, AgentSession},
};
use crate::{
    files::reliance::ReliedEvidence,
    memory,
    models::{bodies::CallBodies, health::StoredHealth},
    run::{
        AttemptTask,
        attempt_task::{PlanStep, step_of},
    },
    session::UnitResult,
};

/// The reason why an agent does not begin.
const UNCONFINED: &str =
    "agents work only in the sandbox, which is off here; remove `sandbox: off` from wf.yaml";

/// The parts of an agent ready to work.
struct PreparedAgent {
    model: ModelDefinition,
    /// The place of its tools.
    command: ProcessCommand,
    servers: AgentServers,
    dialogue: AgentDialogue,
    /// The program working as the agent, if it is one of its own.
    client: Option<ClientSession>,
    recollection: AgentRecollection,
    continued: Option<ContinuedConversation>,
    mode: AgentMode,
}

/// The knowledge an agent has of what was before its run.
#[derive(Default)]
struct AgentRecollection {
    /// The conversation it continues, as it gets it.
    conversation: Option<PriorConversation>,
    /// The knowledge of memory about its task, as it is told.
    calibration: MemoryCalibration,
}

impl AttemptTask {
    /// Briefs an agent that begins, or restores one going on after a crash.
    pub(crate) async fn brief(
        self,
        record: Option<Box<AgentRecord>>,
        stop: watch::Receiver<StopLevel>,
    ) -> UnitResult {
        let run = Arc::clone(&self.run);
        let step = step_of(&run, &self.attempt.task_id);
        let StepWork::Agent(work) = &step.work else {
            return Ok(None);
        };
        // One that waited for an approval in this process is built anew, as after a crash.
        run.agents.close(&self.attempt).await;
        let reliance = ReliedEvidence::check_before(&self).await;
        let prepared = self.prepare_agent(&step, work, record.as_deref(), &stop).await;
        let prepared = match prepared {
            Ok(Some(prepared)) => prepared,
            Ok(None) => {
                let ended = self.end_without_outputs(WorkExit::Cancelled);
                return self.collect(ended, Some(reliance)).await;
            }
            Err(unable) => {
                run.session.executor.ensure_supervised()?;
                let ended = self.end_without_outputs(unable.into());
                return self.collect(ended, Some(reliance)).await;
            }
        };
        let PreparedAgent { model, command, servers, dialogue, client, recollection, continued, mode } =
            prepared;
        let AgentRecollection { conversation, calibration } = recollection;
        let bodies = CallBodies::from_run(&run);
        let briefing = AgentBriefing {
            attempt: self.attempt.clone(),
            model: model.name.clone(),
            engine: work.engine,
            untrusted: step.untrusted_input().or_else(|| conversation.as_ref()?.untrusted.clone()),
            conversation,
            calibration,
            interaction: mode.resolved,
            compactor: compactor(&run.session.models, work.engine),
            request: bodies.store_body(&dialogue.request).await?,
            limits: self.limits(&model, &dialogue.request),
        };
        let mistake = dialogue.mistake(&step.outputs);
        run.agents.insert(AgentSession {
            began: self.since.unwrap_or_else(|| run.session.clock.now()),
            task: self,
            model,
            tools: mode.tools,
            dispatch: work.dispatch.clone(),
            skills: work.skills.clone(),
            hosts: work.fetch.clone(),
            untrusted: work.untrusted.clone(),
            servers,
            outputs: step.outputs.clone(),
            command,
            reliance: Mutex::new(Some(reliance)),
            bodies,
            dialogue: tokio::sync::Mutex::new(dialogue),
            client: client.map(tokio::sync::Mutex::new),
            continued,
        });
        Ok(Some(InputKind::Briefed { briefing: Box::new(briefing), mistake }))
    }

    /// Returns the parts of an agent; `None` if it was told to end first.
    async fn prepare_agent(
        &self,
        step: &PlanStep,
        work: &AgentWork,
        record: Option<&AgentRecord>,
        stop: &watch::Receiver<StopLevel>,
    ) -> Result<Option<PreparedAgent>, WorkError> {
        let model = self.model(&work.model)?;
        if let Some(pins) = &self.run.pinned_files {
            work.skills.iter().try_for_each(|skill| pins.check_skill(&skill.folder))?;
        }
        let Some(secrets) = self.secrets(step, stop).await? else {
            return Ok(None);
        };
        self.run.begin_worktree(&self.attempt).await?;
        let command = self.agent_command(step, &secrets).await?;
        let mut log = self.agent_log().await;
        let servers = match self.start_servers(step, work, &command, &mut log).await {
            Ok(servers) => servers,
            Err(unable) => {
                log.finish();
                return Err(unable);
            }
        };
        let values = self.briefing_values(work).await?;
        let mode = self.agent_mode(step, work)?;
        let untrusted_values = step.untrusted_input();
        let mut parts = BriefingParts {
            briefing: &work.briefing,
            skills: &work.skills,
            values: &values,
            conversation: None,
            calibration: None,
            persona: work.persona.as_ref(),
            interaction_mode: mode.mode,
            feedback: self.feedback.as_deref(),
            outputs: &step.outputs,
            may_be_untrusted: false,
            untrusted_values: untrusted_values.as_deref(),
            tools: mode.tools.iter().map(|tool| definition(*tool, work)).collect(),
            max_output: model.max_output,
        };
        let continued = ContinuedConversation::from_work(work, parts.turn_question());
        let mut recollection = AgentRecollection::default();
        let dialogue = if let Some(record) = record {
            AgentDialogue::restore(&CallBodies::from_run(&self.run), record, log)?
        } else {
            recollection = self.recollect(work).await?;
            parts.conversation = recollection.conversation.as_ref();
            parts.calibration = Some(&recollection.calibration);
            parts.may_be_untrusted = may_be_untrusted(step, work, recollection.conversation.as_ref());
            let mut request = ModelRequest::from_briefing(parts);
            request.tools.extend(servers.masked_definitions(&self.run.mask().await));
            AgentDialogue::begin(request, log)
        };
        let client = ClientSession::new(work, record, &dialogue.request, &CallBodies::from_run(&self.run))?;
        let parts =
            PreparedAgent { model, command, servers, dialogue, client, recollection, continued, mode };
        Ok(Some(parts))
    }

    /// Returns the place of an agent's tools.
    async fn agent_command(
        &self,
        step: &PlanStep,
        secrets: &BTreeMap<String, String>,
    ) -> Result<ProcessCommand, WorkError> {
        let mut command = self.command(step, secrets).await?;
        let Some(sandbox) = &mut command.sandbox else {
            return Err(WorkError::logical(UNCONFINED));
        };
        // The answer of the model has the outputs.
        if let WorkspaceLayer::Direct { files, .. } = &mut sandbox.layer {
            files.clear();
        }
        command.env.retain(|(name, _)| name != "WF_OUTPUT");
        Ok(command)
    }

    /// Returns the limits of an agent's calls.
    fn limits(&self, model: &ModelDefinition, request: &ModelRequest) -> ModelLimits {
        ModelLimits {
            first_input: request.estimated_tokens(),
            context_window: model.context_window,
            max_output: model.max_output,
            price: self.run.session.models.dearest_price(model),
        }
    }

    /// Returns the knowledge of a new agent of earlier runs.
    async fn recollect(&self, work: &AgentWork) -> Result<AgentRecollection, WorkError> {
        let mut conversation = None;
        if let Some(used) = &work.conversation {
            let weights = work.persona.as_ref().and_then(|persona| persona.moods.as_ref());
            conversation = Some(prior_conversation(&self.run, &self.attempt, used, weights).await?);
        }
        Ok(AgentRecollection { conversation, calibration: self.calibration(work)? })
    }

    /// Returns the knowledge of memory about the task of an agent recalling one.
    fn calibration(&self, work: &AgentWork) -> Result<MemoryCalibration, WorkError> {
        let Some(task) = &work.recall else {
            return Ok(MemoryCalibration::default());
        };
        let task = self.with_template_values(&BTreeMap::new(), |values| task.render(values));
        let task = task.map_err(|error| WorkError::logical(error.to_string()))?;
        let records = memory::recalled(&self.run, &self.attempt, &task);
        records.map_err(|error| WorkError::environmental(format!("memory cannot be read: {error}")))
    }

    async fn agent_log(&self) -> AgentLog {
        let target = LogTarget {
            path: log::path(&self.run.dir, &self.attempt),
            limit: self.run.session.log_limit,
            mask: self.run.mask().await,
            clock: Arc::clone(&self.run.session.clock),
        };
        AgentLog::new(LogWriter::new(target, self.on_output()))
    }

    /// Starts the MCP servers of an agent where its scripts would be started.
    async fn start_servers(
        &self,
        step: &PlanStep,
        work: &AgentWork,
        place_command: &ProcessCommand,
        log: &mut AgentLog,
    ) -> Result<AgentServers, WorkError> {
        let declared_servers = &self.run.session.models.servers;
        let servers = work.mcp.iter().map(|name| {
            declared_servers.get(name).cloned().ok_or_else(|| {
                WorkError::logical(format!(
                    "`{name}` is not one of the `mcp` servers in wf.yaml; add it there"
                ))
            })
        });
        let servers = servers.collect::<Result<Vec<_>, _>>()?;
        let now = self.run.session.clock.now();
        let spent = self.since.map(|since| now.since(since)).unwrap_or_default();
        let time_left = step.timeout.map(|limit| limit.saturating_sub(spent));
        let place = ServerPlace {
            command: place_command,
            limits: server_limits(time_left, self.run.plan.parts().policy.grace),
            health: StoredHealth::new(&self.run.session.store),
            mask: self.run.mask().await,
            breakers: &self.breakers,
        };
        AgentServers::start(servers, place, log).await
    }

    fn model(&self, choice: &ModelChoice) -> Result<ModelDefinition, WorkError> {
        let definition = self.run.session.models.find(choice);
        definition.cloned().ok_or_else(|| {
            let (kind, name) = match choice {
                ModelChoice::Model(name) => ("models", name),
                ModelChoice::Role(name) => ("roles", name),
            };
            WorkError::logical(format!("`{name}` is not one of the `{kind}` in wf.yaml; add it there"))
        })
    }

    /// Returns the values of the briefing, masked.
    async fn briefing_values(&self, work: &AgentWork) -> Result<JsonObject, WorkError> {
        let values = self.with_template_values(&BTreeMap::new(), |known| {
            let rendered = work.with.iter().map(|(name, value)| {
                let value = value.value(known)?;
                Ok((name.to_string(), value))
            });
            rendered.collect::<Result<JsonObject, EvalError>>()
        });
        let mut values = values.map_err(|error| WorkError::logical(error.to_string())).map(Value::Object)?;
        self.run.mask().await.value(&mut values);
        Ok(values.as_object().cloned().unwrap_or_default())
    }
}

/// True if a model may be given text from outside.
fn may_be_untrusted(step: &PlanStep, work: &AgentWork, prior: Option<&PriorConversation>) -> bool {
    step.untrusted_input().is_some()
        || prior.is_some_and(|prior| prior.untrusted.is_some())
        || work.reads_outside()
        || step.allow.as_ref().is_some_and(|allow| allow.net)
        || step.work.plans_used().into_iter().any(|plan| taints(plan).has_external_outputs())
}

/// Returns the definition of a tool for the model of an agent.
fn definition(tool: AgentTool, work: &AgentWork) -> ToolDefinition {
    match (tool, &work.dispatch) {
        (AgentTool::Skill, _) => skill_definition(&work.skills),
        (AgentTool::Dispatch, Some(dispatch)) => dispatch_definition(dispatch),
        _ => tool_definition(tool),
    }
}
