use std::{collections::HashMap, sync::Arc};

use super::{
    check::{checks, env, script},
    gate,
    matrix::combinations,
    plan::{LoweringError, SpecLowering},
    work,
};
use crate::{
    ast,
    decode::{CompleteSpec, LowerSpec},
};
use wf_base::name::Name;
use wf_model::{
    AgentDispatch, AgentWork, Alternative, ChildPlan, ConversationUse, FailureClass, FailureClassRule,
    HttpCall, NestedPlan, OnStuck, Persona, RequiredOutput, RetryPolicy, ReworkLimit, Step, StepIx, StepLock,
    StepRepetition, StepWork, WaitCondition,
};

/// The exit code of podman and docker if they could not run a container at all.
const CONTAINER_NOT_RUN: i32 = 125;

/// The file of a step and the indexes of its siblings.
pub(super) struct SiblingSteps<'l> {
    pub(super) file: usize,
    pub(super) places: HashMap<&'l Name, StepIx>,
}

pub(super) fn step(
    step: &ast::StepSpec,
    siblings: &SiblingSteps<'_>,
    lowering: &mut SpecLowering<'_>,
) -> Result<Step, LoweringError> {
    let mut depends_on = Vec::with_capacity(step.depends_on.len());
    for name in &step.depends_on {
        let ix = *siblings.places.get(&name.value).ok_or(LoweringError::Broken)?;
        if !depends_on.contains(&ix) {
            depends_on.push(ix);
        }
    }
    let work = work(step, siblings.file, lowering)?;
    let lock = lock(step, &work);
    let in_container = matches!(work, StepWork::Run(_) | StepWork::Exec(_));
    let container = step.container.as_ref().filter(|_| in_container);
    let no_container = container.map(|_| not_run());
    Ok(Step {
        id: step.id.lower(),
        title: step.title.lower(),
        depends_on,
        when: step.when.lower().map(Box::new),
        fan: fan(step),
        key: step.key.lower().map(Box::new),
        max_parallel: step.max_parallel.lower(),
        work,
        container: container.map(|image| image.value.clone()),
        env: env(&step.env),
        cwd: step.cwd.lower(),
        timeout: step.timeout.lower(),
        queue_timeout: step.queue_timeout.lower(),
        retry: retry(step.retry.as_deref(), &lowering.defaults.retry),
        on_stuck: on_stuck(step, siblings.file, lowering),
        idempotent: step.idempotent,
        detach: step.detach,
        verify: checks(&step.inspect, &step.test, &step.verify),
        loops: step.loops.complete(&ReworkLimit::default()),
        outputs: outputs(step),
        external: external(step),
        artifacts: step.artifacts.lower(),
        writes: step.writes.lower(),
        cache: step.cache.lower().map(Box::new),
        concurrency: lock,
        runs_on: step.runs_on.lower(),
        on_error: step.on_error,
        allow: step
            .allow
            .lower()
            .map(|permissions| work::with_interpreter(step, lowering.loaded, permissions))
            .map(Box::new),
        limits: step.limits.lower().unwrap_or_default(),
        classify: step.classify.lower().into_iter().chain(no_container).collect(),
        gates: gate::own(lowering.loaded, siblings.file, &step.gates)?,
        tool: step.tool.lower(),
        target: step.target.lower(),
        on_escalation: step.on_escalation,
        alternatives: alternatives(step, siblings, lowering)?,
        briefing: step.briefing.as_ref().map(ToString::to_string),
    })
}

/// Returns the lock of a step: that of the conversation it continues, or its own.
fn lock(step: &ast::StepSpec, work: &StepWork) -> Option<StepLock> {
    if let StepWork::Agent(agent) = work
        && let Some(conversation) = &agent.conversation
    {
        return Some(StepLock::from(conversation.lock().as_str()));
    }
    let ast::LockSpec { lock, when_busy } = &step.concurrency.as_ref()?.0;
    Some(StepLock { name: lock.lower(), when_busy: *when_busy })
}

/// Returns the rule about a container unable to run: no failure of the step.
fn not_run() -> FailureClassRule {
    FailureClassRule {
        exit_code: vec![CONTAINER_NOT_RUN],
        signal: None,
        output: None,
        class: FailureClass::Environmental,
    }
}

fn alternatives(
    written: &ast::StepSpec,
    siblings: &SiblingSteps<'_>,
    lowering: &mut SpecLowering<'_>,
) -> Result<Vec<Alternative>, LoweringError> {
    let ways = written.alternatives.iter().zip(&written.ways);
    ways.map(|(alternative, way)| {
        Ok(Alternative {
            id: alternative.id.lower(),
            replaces: alternative.has_executor(),
            step: Arc::new(step(way, siblings, lowering)?),
        })
    })
    .collect()
}

fn fan(step: &ast::StepSpec) -> StepRepetition {
    match (&step.for_each, &step.matrix) {
        (Some(each), _) => match &each.value {
            ast::ForEachSpec::List(items) => StepRepetition::List(items.clone()),
            ast::ForEachSpec::Computed(expr) => StepRepetition::Each(expr.clone()),
        },
        (None, Some(matrix)) => StepRepetition::Matrix(combinations(matrix)),
        (None, None) => StepRepetition::Once,
    }
}

fn work(
    step: &ast::StepSpec,
    file: usize,
    lowering: &mut SpecLowering<'_>,
) -> Result<StepWork, LoweringError> {
    if let Some(text) = &step.run {
        return Ok(StepWork::Run(script(&text.value, step.shell.as_deref())));
    }
    if let Some(argv) = &step.exec {
        return Ok(StepWork::Exec(argv.lower()));
    }
    if let Some(used) = &step.skill {
        let call = work::skill_call(&used.value, lowering.loaded).ok_or(LoweringError::Broken)?;
        return Ok(StepWork::Skill(Box::new(call)));
    }
    if let Some(agent) = &step.agent {
        return work_of_agent(step, &agent.value, file, lowering).map(StepWork::Agent);
    }
    if let Some(request) = &step.http {
        return Ok(StepWork::Http(Box::new(http(request))));
    }
    if let Some(wait) = &step.wait {
        return wait_for(wait).map(StepWork::Wait).ok_or(LoweringError::Broken);
    }
    if let Some(approve) = &step.approve {
        return Ok(StepWork::Approve(Box::new(work::approval_step(&approve.value))));
    }
    let with = step.with.lower();
    if step.generated().is_some() {
        let generated = work::generated_plan(step, with, file, lowering)?;
        return Ok(StepWork::Generated(Box::new(generated)));
    }
    let used = step.used_file().ok_or(LoweringError::Broken)?;
    let (plan, path) = lowering.plan_at(file, used)?;
    Ok(StepWork::Uses(Box::new(NestedPlan { plan, path, with })))
}

fn work_of_agent(
    step: &ast::StepSpec,
    agent: &ast::AgentSpec,
    file: usize,
    lowering: &mut SpecLowering<'_>,
) -> Result<Box<AgentWork>, LoweringError> {
    let dispatch = agent.dispatch.as_ref();
    let dispatch = dispatch.map(|dispatch| dispatched(&dispatch.value, file, lowering)).transpose()?;
    let skills = agent.skills.iter().flatten();
    let skills = skills.map(|name| work::agent_skill(&name.value, lowering.loaded));
    Ok(Box::new(AgentWork {
        model: agent.choice().ok_or(LoweringError::Broken)?,
        engine: agent.engine.unwrap_or_default(),
        command: agent.command.lower().unwrap_or_default(),
        briefing: step.briefing.as_deref().map(str::trim).unwrap_or_default().to_owned(),
        with: agent.with.lower(),
        recall: agent.recall.lower(),
        tools: agent.tools.lower(),
        untrusted: agent.untrusted.lower(),
        when_untrusted: agent.when_untrusted.lower().into_iter().collect(),
        skills: skills.collect::<Option<_>>().ok_or(LoweringError::Broken)?,
        mcp: agent.mcp.lower(),
        fetch: agent.fetch.lower(),
        max_questions: agent.max_questions.lower().unwrap_or(AgentWork::MAX_QUESTIONS),
        workspace: agent.workspace.unwrap_or_default(),
        merge: agent.merge.unwrap_or_default(),
        max_turns: agent.max_turns.lower().unwrap_or(AgentWork::MAX_TURNS),
        dispatch: dispatch.map(Box::new),
        persona: agent.persona.as_ref().map(|used| persona(&used.0, file, lowering)).transpose()?,
        interaction: agent.interaction.lower(),
        conversation: agent.conversation.as_ref().map(|conversation| ConversationUse {
            name: conversation.lower(),
            idle: agent.conversation_idle.lower().unwrap_or(ConversationUse::IDLE),
        }),
    }))
}

/// Returns a persona, with the content of its file.
fn persona(
    used: &ast::PersonaSpec,
    file: usize,
    lowering: &SpecLowering<'_>,
) -> Result<Persona, LoweringError> {
    let Some(path) = &used.file else {
        return Ok(used.lower(None));
    };
    let index = lowering.loaded.file_at(file, &path.value);
    let persona_file_spec = index.and_then(|number| lowering.loaded.personas.get(&number));
    persona_file_spec.map(|persona_file| used.lower(Some(persona_file))).ok_or(LoweringError::Broken)
}

/// The plans an agent may start.
fn dispatched(
    dispatch: &ast::DispatchSpec,
    file: usize,
    lowering: &mut SpecLowering<'_>,
) -> Result<AgentDispatch, LoweringError> {
    let plans = dispatch.plans.iter().map(|path| {
        let (plan, path) = lowering.plan_at(file, path)?;
        Ok(ChildPlan { plan, path })
    });
    Ok(AgentDispatch {
        plans: plans.collect::<Result<_, LoweringError>>()?,
        max: dispatch.max.lower().unwrap_or(AgentDispatch::MAX),
        max_parallel: dispatch.max_parallel.lower().unwrap_or(AgentDispatch::MAX_PARALLEL),
    })
}

fn http(http: &ast::HttpSpec) -> HttpCall {
    HttpCall {
        method: http.method.unwrap_or_default().as_str().to_owned(),
        url: http.url.lower(),
        headers: http.headers.lower(),
        body: http.body.clone(),
        expect: http.expect.as_ref().map(|expect| expect.status.lower()).unwrap_or_default(),
        outputs: http.outputs.lower(),
    }
}

fn wait_for(wait: &ast::WaitSpec) -> Option<WaitCondition> {
    let duration = wait.duration.map(|period| WaitCondition::For(period.0));
    let until = || wait.until.map(WaitCondition::Until);
    let file = || wait.file.lower().map(WaitCondition::File);
    duration.or_else(until).or_else(file)
}

/// The reaction when attempts of a step keep failing: only an agent has a reader for guidance.
fn on_stuck(step: &ast::StepSpec, file: usize, lowering: &SpecLowering<'_>) -> OnStuck {
    let plan = lowering.loaded.plans.get(file).and_then(Option::as_ref);
    step.own_on_stuck(plan.and_then(|plan| plan.on_stuck))
}

/// The retry of a step, completed by the workspace's defaults.
pub(super) fn retry(
    given_retry: Option<&ast::RetrySpec>,
    default_policy: &Arc<RetryPolicy>,
) -> Arc<RetryPolicy> {
    given_retry.map_or_else(
        || Arc::clone(default_policy),
        |retry_spec| Arc::new(retry_spec.complete(default_policy)),
    )
}

fn outputs(step: &ast::StepSpec) -> Vec<RequiredOutput> {
    let declared = step.outputs.iter();
    let declared =
        declared.map(|(name, output)| RequiredOutput { name: name.lower(), schema: output.schema.clone() });
    let mut outputs: Vec<RequiredOutput> = declared.collect();
    outputs.extend(step.approve.iter().flat_map(|approve| work::answer_outputs(&approve.value)));
    outputs
}

/// The outputs declared as external.
fn external(step: &ast::StepSpec) -> Vec<Name> {
    let declared = step.outputs.iter().filter(|(_, output)| output.external);
    declared.map(|(name, _)| name.lower()).collect()
}
