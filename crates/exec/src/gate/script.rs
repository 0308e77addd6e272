//! The run of a gate's program: with a view of the workspace, again if somebody disturbs it.

use std::sync::Arc;

use serde_json::Value;
use tokio::{sync::watch, time::Instant};

use wf_core::{
    gate::{GateAnswer, GateContext, predicate::judge_predicate},
    machine::CheckRuling,
    verify::{CriterionJudgement, ProbeFindings, judge},
};
use wf_model::{Check, EngineFailure, Gate, GateScript, GateTrigger};

use super::{
    ask::{GateEnvironment, WorkspaceFiles},
    output::GateOutput,
    probe::{of_script, variables},
};
use crate::{
    processes::{environment::KnownValues, probe::ProbeOutcome},
    view::{CheckPatience, ViewedCheck},
    work::check::{CheckEnvironment, command, discreet, judgeable_findings, masked},
    work_error::{StopLevel, WorkError},
};

/// Runs the program of a gate and parses its output.
pub(super) async fn run_script(
    gate: &Gate,
    script: &GateScript,
    context: &GateContext,
    environment: &GateEnvironment,
    stop: watch::Receiver<StopLevel>,
) -> Result<GateAnswer, WorkError> {
    let check = of_script(gate, script);
    let variables = variables(gate, context, &environment.environment.mask)?;
    let input = ScriptInput { variables, input: None };
    let probed = run_viewed(&check, "gate", input, environment, stop).await?;
    answer(gate, script, &probed, environment)
}

/// The input of a program beyond that of every check.
pub(crate) struct ScriptInput {
    /// Further variables.
    pub(crate) variables: Vec<(String, String)>,
    /// The standard input; `None`: empty.
    pub(crate) input: Option<String>,
}

/// Runs the program of a check on the workspace as it was when the run began, plus declared files.
/// `who` names its owner in messages.
pub(crate) async fn run_viewed(
    check: &Check,
    who: &str,
    input: ScriptInput,
    environment: &GateEnvironment,
    stop: watch::Receiver<StopLevel>,
) -> Result<ProbeOutcome, WorkError> {
    let Some(view) = environment.view.clone() else {
        return probe(check, &input, &environment.environment, stop).await;
    };
    let params = &environment.environment.params;
    let looking = ViewedCheck::new(view, Arc::default(), check, params, None);
    let explain = |error: WorkError| {
        let reason = format!("the {who} failed: {}", error.reason);
        WorkError { reason, ..error }
    };
    let mut patience = CheckPatience::default();
    loop {
        let inspection = looking.inspect_workspace(&environment.environment, patience.is_disturbed()).await;
        let (sight, ground) = inspection.map_err(explain)?;
        let began = Instant::now();
        let probed = probe(check, &input, &ground, stop.clone()).await?;
        match looking.recheck(sight.as_ref()).await {
            Ok(()) => return Ok(probed),
            Err(_) if patience.bears(began.elapsed()) => {}
            Err(unable) => return Err(explain(unable)),
        }
    }
}

async fn probe(
    check: &Check,
    input: &ScriptInput,
    environment: &CheckEnvironment,
    stop: watch::Receiver<StopLevel>,
) -> Result<ProbeOutcome, WorkError> {
    let scope = KnownValues::of_params(Some(&environment.params));
    let command = command(check, environment, &scope)?;
    let mut command = command.ok_or_else(|| WorkError::logical("it has nothing to run"))?;
    command.env.extend(input.variables.iter().cloned());
    command.input.clone_from(&input.input);
    Ok(environment.probe(check, command, stop).await)
}

/// Derives the answer from a program's result. A failed expectation blocks regardless of the
/// output; one that could not be tested gives no answer. Between the program's answer and the rule
/// on its output, the stricter wins.
fn answer(
    gate: &Gate,
    script: &GateScript,
    probed: &ProbeOutcome,
    environment: &GateEnvironment,
) -> Result<GateAnswer, WorkError> {
    let ground = &environment.environment;
    let looked = ground.find_files(&script.expect.file_exists);
    let rule = |findings: &ProbeFindings<'_>| judge(&script.expect, findings, &[]);
    let judged = discreet(rule, &judgeable_findings(Some(probed), &looked), &ground.mask);
    if judged.ruling == CheckRuling::Error {
        return Err(WorkError::engine(EngineFailure::Sensor, judged.found));
    }
    let shown = masked(&probed.out, &ground.mask);
    let gate_output = GateOutput::parse(&String::from_utf8_lossy(&shown));
    if judged.ruling == CheckRuling::Fail {
        let own = gate_output.ok().map(|gate_output| gate_output.answer.reason);
        let own = own.filter(|reason| !reason.is_empty());
        return Ok(GateAnswer::block(own.unwrap_or_else(|| failure_text(&judged))));
    }
    if probed.truncated {
        return Err(WorkError::logical("its output exceeds the limit"));
    }
    let mut gate_output = gate_output.map_err(|mistake| WorkError::logical(mistake.to_string()))?;
    if gate.on == GateTrigger::OnModelCall {
        gate_output.take_call_texts();
    }
    let Some(then) = &script.then else {
        return Ok(gate_output.answer);
    };
    let values = Value::Object(gate_output.values);
    let chosen = gate.extract.as_ref().map(|path| path.select(&values));
    let chosen = chosen.and_then(|chosen| chosen.first().copied());
    let ruled = judge_predicate(then, chosen, &WorkspaceFiles(&ground.root));
    Ok(stricter(gate_output.answer, ruled))
}

/// Returns the reason for a failed expectation, with the beginning of the program's output.
fn failure_text(judged: &CriterionJudgement) -> String {
    let mut reason = format!("expected {}, found {}", judged.expected, judged.found);
    if let Some(line) = judged.evidence.lines().find(|line| !line.trim().is_empty()) {
        reason += &format!(": {}", line.trim());
    }
    reason
}

/// Returns the stricter of the program's answer and the rule's; on a tie, the program's.
fn stricter(script_answer: GateAnswer, rule_answer: GateAnswer) -> GateAnswer {
    if rule_answer.action <= script_answer.action {
        return script_answer;
    }
    GateAnswer { action: rule_answer.action, reason: rule_answer.reason, ..script_answer }
}
