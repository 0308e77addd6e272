//! The scripts of skills an agent calls: as a step would run them, with no more than the step has.

use tokio::sync::watch;

use wf_core::agent::SkillScriptCall;
use wf_exec::{
    StopLevel, WorkError,
    agent_tool::{ToolEnvironment, ToolOutcome, run_program},
    attempt::{begin_output, take_output},
    outputs::parse,
    sandbox::WorkspaceLayer,
};
use wf_model::{AgentSkillScript, RequiredOutput, Step, StepWork};

use super::session::AgentSession;
use crate::run::attempt_task::step_of;

/// Runs a script of a skill with what both the skill and the step permit.
pub(super) async fn run_script(
    session: &AgentSession,
    environment: ToolEnvironment,
    called: SkillScriptCall<'_>,
    stop: watch::Receiver<StopLevel>,
) -> Result<ToolOutcome, WorkError> {
    let run = &session.task.run;
    let SkillScriptCall { script, call } = called;
    let step =
        narrowed(&step_of(run, &session.task.attempt.task_id), script, StepWork::Skill(Box::new(call)));
    let Some(secrets) = session.task.secrets(&step, &stop).await? else {
        return Err(WorkError::logical("the script was not started: the attempt ends"));
    };
    let mut command = session.task.whole_command(&step, &secrets).await?;
    if let (Some(sandbox), Some(own)) = (&mut command.sandbox, &session.command.sandbox)
        && let (
            WorkspaceLayer::Direct { control, .. },
            WorkspaceLayer::Direct { control: of_step, write: granted, .. },
        ) = (&mut sandbox.layer, &own.layer)
    {
        // A path that the skill names exactly may be one that the step has only as a part of a folder.
        sandbox.repository_grants = Some(granted.clone());
        control.extend(of_step.iter().filter(|file| !control.contains(file)).cloned().collect::<Vec<_>>());
    }
    let output = session.task.output();
    begin_output(&output, true);
    let site = ToolEnvironment { command, output_limit: step.limits.output, ..environment };
    let outcome = run_program(&run.session.executor, &site, script.timeout, stop).await;
    let written = take_output(&output, &site.mask);
    if outcome.is_error {
        return Ok(outcome);
    }
    Ok(match written.and_then(|text| outputs_line(&text, &script.outputs)) {
        Ok(line) => ToolOutcome { text: format!("{}{line}", outcome.text), ..outcome },
        Err(unable) => {
            let reason = site.mask.text(&unable.reason).into_owned();
            let text = format!("{}\n[its outputs are not valid: {reason}]", outcome.text);
            ToolOutcome { text, is_error: true, ..outcome }
        }
    })
}

/// Returns a step of an agent as one running a script: with the permissions and limits of both.
fn narrowed(step: &Step, script: &AgentSkillScript, work: StepWork) -> Step {
    let allow = step.allow.as_deref().map(|allow| Box::new(allow.intersection(&script.allow)));
    Step {
        work,
        allow,
        limits: step.limits.stricter(&script.limits),
        outputs: script.outputs.clone(),
        ..step.clone()
    }
}

/// Returns the outputs a script wrote, as a line for the model; empty if there are none.
fn outputs_line(written: &str, declared: &[RequiredOutput]) -> Result<String, WorkError> {
    let values = parse(written, declared).map_err(|problems| WorkError::logical(problems.join("; ")))?;
    if values.is_empty() {
        return Ok(String::new());
    }
    Ok(format!("\n[outputs: {}]", serde_json::Value::Object(values)))
}
