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
    mode::{self, AgentMode},
    session::{AgentDialogue, AgentSession},
};
use crate::{
    attempt::output,
    files::{reliance::ReliedEvidence, worktrees},
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

/// Briefs an agent that begins, or restores one going on after a crash.
pub(crate) async fn brief(
    task: AttemptTask,
    record: Option<Box<AgentRecord>>,
    stop: watch::Receiver<StopLevel>,
) -> UnitResult {
    let run = Arc::clone(&task.run);
    let step = step_of(&run, &task.attempt.task_id);
    let StepWork::Agent(work) = &step.work else {
        return Ok(None);
    };
    // One that waited for an approval in this process is built anew, as after a crash.
    run.agents.close(&task.attempt).await;
    let reliance = ReliedEvidence::check_before(&task).await;
    let prepared = prepare_agent(&task, &step, work, record.as_deref(), &stop).await;
    let prepared = match prepared {
        Ok(Some(prepared)) => prepared,
        Ok(None) => {
            let ended = task.end_without_outputs(WorkExit::Cancelled);
            return task.collect(ended, Some(reliance)).await;
        }
        Err(unable) => {
            run.session.executor.ensure_supervised()?;
            let ended = task.end_without_outputs(unable.into());
            return task.collect(ended, Some(reliance)).await;
        }
    };
    let PreparedAgent { model, command, servers, dialogue, client, recollection, continued, mode } = prepared;
    let AgentRecollection { conversation, calibration } = recollection;
    let bodies = CallBodies::from_run(&run);
    let briefing = AgentBriefing {
        attempt: task.attempt.clone(),
        model: model.name.clone(),
        engine: work.engine,
        untrusted: step.untrusted_input().or_else(|| conversation.as_ref()?.untrusted.clone()),
        conversation,
        calibration,
        interaction: mode.resolved,
        compactor: compactor(&run.session.models, work.engine),
        request: bodies.store_body(&dialogue.request).await?,
        limits: limits(&task, &model, &dialogue.request),
    };
    let mistake = dialogue.mistake(&step.outputs);
    run.agents.insert(AgentSession {
        began: task.since.unwrap_or_else(|| run.session.clock.now()),
        task,
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
    task: &AttemptTask,
    step: &PlanStep,
    work: &AgentWork,
    record: Option<&AgentRecord>,
    stop: &watch::Receiver<StopLevel>,
) -> Result<Option<PreparedAgent>, WorkError> {
    let model = model(task, &work.model)?;
    if let Some(pins) = &task.run.pinned_files {
        work.skills.iter().try_for_each(|skill| pins.check_skill(&skill.folder))?;
    }
    let Some(secrets) = task.secrets(step, stop).await? else {
        return Ok(None);
    };
    worktrees::begin_worktree(&task.run, &task.attempt).await?;
    let command = agent_command(task, step, &secrets).await?;
    let mut log = agent_log(task).await;
    let servers = match start_servers(task, step, work, &command, &mut log).await {
        Ok(servers) => servers,
        Err(unable) => {
            log.finish();
            return Err(unable);
        }
    };
    let values = briefing_values(task, work).await?;
    let mode = mode::agent_mode(task, step, work)?;
    let untrusted_values = step.untrusted_input();
    let mut parts = BriefingParts {
        briefing: &work.briefing,
        skills: &work.skills,
        values: &values,
        conversation: None,
        calibration: None,
        persona: work.persona.as_ref(),
        interaction_mode: mode.mode,
        feedback: task.feedback.as_deref(),
        outputs: &step.outputs,
        may_be_untrusted: false,
        untrusted_values: untrusted_values.as_deref(),
        tools: mode.tools.iter().map(|tool| definition(*tool, work)).collect(),
        max_output: model.max_output,
    };
    let continued = ContinuedConversation::from_work(work, parts.turn_question());
    let mut recollection = AgentRecollection::default();
    let dialogue = if let Some(record) = record {
        AgentDialogue::restore(&CallBodies::from_run(&task.run), record, log)?
    } else {
        recollection = recollect(task, work).await?;
        parts.conversation = recollection.conversation.as_ref();
        parts.calibration = Some(&recollection.calibration);
        parts.may_be_untrusted = may_be_untrusted(step, work, recollection.conversation.as_ref());
        let mut request = ModelRequest::from_briefing(parts);
        request.tools.extend(servers.masked_definitions(&task.run.mask().await));
        AgentDialogue::begin(request, log)
    };
    let client = ClientSession::new(work, record, &dialogue.request, &CallBodies::from_run(&task.run))?;
    let parts = PreparedAgent { model, command, servers, dialogue, client, recollection, continued, mode };
    Ok(Some(parts))
}

/// Returns the place of an agent's tools.
async fn agent_command(
    task: &AttemptTask,
    step: &PlanStep,
    secrets: &BTreeMap<String, String>,
) -> Result<ProcessCommand, WorkError> {
    let mut command = task.command(step, secrets).await?;
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
fn limits(task: &AttemptTask, model: &ModelDefinition, request: &ModelRequest) -> ModelLimits {
    ModelLimits {
        first_input: request.estimated_tokens(),
        context_window: model.context_window,
        max_output: model.max_output,
        price: task.run.session.models.dearest_price(model),
    }
}

/// Returns the knowledge of a new agent of earlier runs.
async fn recollect(task: &AttemptTask, work: &AgentWork) -> Result<AgentRecollection, WorkError> {
    let mut conversation = None;
    if let Some(used) = &work.conversation {
        let weights = work.persona.as_ref().and_then(|persona| persona.moods.as_ref());
        conversation = Some(prior_conversation(&task.run, &task.attempt, used, weights).await?);
    }
    Ok(AgentRecollection { conversation, calibration: calibration(task, work)? })
}

/// Returns the knowledge of memory about the task of an agent recalling one.
fn calibration(task: &AttemptTask, work: &AgentWork) -> Result<MemoryCalibration, WorkError> {
    let Some(recall) = &work.recall else {
        return Ok(MemoryCalibration::default());
    };
    let text = task.with_template_values(&BTreeMap::new(), |values| recall.render(values));
    let text = text.map_err(|error| WorkError::logical(error.to_string()))?;
    let records = memory::recalled(&task.run, &task.attempt, &text);
    records.map_err(|error| WorkError::environmental(format!("memory cannot be read: {error}")))
}

async fn agent_log(task: &AttemptTask) -> AgentLog {
    let target = LogTarget {
        path: log::path(&task.run.dir, &task.attempt),
        limit: task.run.session.log_limit,
        mask: task.run.mask().await,
        clock: Arc::clone(&task.run.session.clock),
    };
    AgentLog::new(LogWriter::new(target, output::on_output(task)))
}

/// Starts the MCP servers of an agent where its scripts would be started.
async fn start_servers(
    task: &AttemptTask,
    step: &PlanStep,
    work: &AgentWork,
    place_command: &ProcessCommand,
    log: &mut AgentLog,
) -> Result<AgentServers, WorkError> {
    let declared_servers = &task.run.session.models.servers;
    let servers = work.mcp.iter().map(|name| {
        declared_servers.get(name).cloned().ok_or_else(|| {
            WorkError::logical(format!("`{name}` is not one of the `mcp` servers in wf.yaml; add it there"))
        })
    });
    let servers = servers.collect::<Result<Vec<_>, _>>()?;
    let now = task.run.session.clock.now();
    let spent = task.since.map(|since| now.since(since)).unwrap_or_default();
    let time_left = step.timeout.map(|limit| limit.saturating_sub(spent));
    let place = ServerPlace {
        command: place_command,
        limits: server_limits(time_left, task.run.plan.parts().policy.grace),
        health: StoredHealth::new(&task.run.session.store),
        mask: task.run.mask().await,
        breakers: &task.breakers,
    };
    AgentServers::start(servers, place, log).await
}

fn model(task: &AttemptTask, choice: &ModelChoice) -> Result<ModelDefinition, WorkError> {
    let definition = task.run.session.models.find(choice);
    definition.cloned().ok_or_else(|| {
        let (kind, name) = match choice {
            ModelChoice::Model(name) => ("models", name),
            ModelChoice::Role(name) => ("roles", name),
        };
        WorkError::logical(format!("`{name}` is not one of the `{kind}` in wf.yaml; add it there"))
    })
}

/// Returns the values of the briefing, masked.
async fn briefing_values(task: &AttemptTask, work: &AgentWork) -> Result<JsonObject, WorkError> {
    let values = task.with_template_values(&BTreeMap::new(), |known| {
        let rendered = work.with.iter().map(|(name, value)| {
            let value = value.value(known)?;
            Ok((name.to_string(), value))
        });
        rendered.collect::<Result<JsonObject, EvalError>>()
    });
    let mut values = values.map_err(|error| WorkError::logical(error.to_string())).map(Value::Object)?;
    task.run.mask().await.value(&mut values);
    Ok(values.as_object().cloned().unwrap_or_default())
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
