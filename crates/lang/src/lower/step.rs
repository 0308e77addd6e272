use std::{collections::HashMap, sync::Arc};

use super::{
    check::{checks, env, limits, paths, rules, script},
    gate,
    matrix::combinations,
    plan::{LoweringError, SpecLowering},
    work,
};
use crate::ast;
use wf_base::name::Name;
use wf_model::{
    AgentDispatch, AgentWork, Alternative, ChildPlan, ConversationUse, FailureClass, FailureClassRule,
    HttpCall, NestedPlan, OnStuck, Persona, RequiredOutput, RetryPolicy, ReworkLimit, SandboxPermissions,
    Step, StepCache, StepIx, StepLock, StepRepetition, StepWork, WaitCondition,
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
        id: step.id.value.clone(),
        title: step.title.as_deref().cloned(),
        depends_on,
        when: step.when.as_ref().map(|when| Box::new(when.value.clone())),
        fan: fan(step),
        key: step.key.as_ref().map(|key| Box::new(key.value.clone())),
        max_parallel: step.max_parallel.as_ref().map(|limit| limit.value),
        work,
        container: container.map(|image| image.value.clone()),
        env: env(&step.env),
        cwd: step.cwd.as_ref().map(|path| path.value.clone()),
        timeout: step.timeout.as_ref().map(|period| period.value.0),
        queue_timeout: step.queue_timeout.as_ref().map(|period| period.value.0),
        retry: retry(step.retry.as_deref(), &lowering.defaults.retry),
        on_stuck: on_stuck(step, siblings.file, lowering),
        idempotent: step.idempotent,
        detach: step.detach,
        verify: checks(&step.inspect, &step.test, &step.verify),
        loops: loops(step.loops.as_ref()),
        outputs: outputs(step),
        external: external(step),
        artifacts: step.artifacts.iter().map(|g| g.value.clone()).collect(),
        writes: step.writes.iter().map(|g| g.value.clone()).collect(),
        cache: step.cache.as_ref().map(|cache_spec| Box::new(cache(cache_spec))),
        concurrency: lock,
        runs_on: step.runs_on.as_ref().map(|queue| queue.value.clone()),
        on_error: step.on_error,
        allow: step
            .allow
            .as_deref()
            .map(|allow_spec| work::with_interpreter(step, lowering.loaded, allow(allow_spec)))
            .map(Box::new),
        limits: limits(step.limits.as_deref()),
        classify: rules(&step.classify).into_iter().chain(no_container).collect(),
        gates: gate::own(lowering.loaded, siblings.file, &step.gates)?,
        tool: step.tool.as_deref().map(|tool| tool.value.clone()),
        target: step.target.as_deref().map(|target| target.value.clone()),
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
    Some(StepLock { name: lock.value.clone(), when_busy: *when_busy })
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
            id: alternative.id.value.clone(),
            replaces: alternative.has_executor(),
            step: Arc::new(step(way, siblings, lowering)?),
        })
    })
    .collect()
}

fn cache(cache_spec: &ast::CacheSpec) -> StepCache {
    StepCache {
        inputs: cache_spec.inputs.iter().map(|glob| glob.value.clone()).collect(),
        outputs: cache_spec.outputs.iter().map(|glob| glob.value.clone()).collect(),
    }
}

pub(super) fn allow(allow_spec: &ast::AllowSpec) -> SandboxPermissions {
    SandboxPermissions {
        read: paths(&allow_spec.read),
        write: allow_spec.write.iter().map(|path| path.value.0.clone()).collect(),
        net: allow_spec.net,
        env: allow_spec.env.iter().map(|name| name.value.to_string()).collect(),
        exec: allow_spec.exec.as_deref().map(paths),
    }
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
        let argv = argv.iter().map(|part| part.value.clone()).collect();
        return Ok(StepWork::Exec(argv));
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
    let with = step.with.iter().map(|(name, value)| (name.value.clone(), value.value.0.clone())).collect();
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
    let with = agent.with.iter();
    let skills = agent.skills.iter().flatten();
    let skills = skills.map(|name| work::agent_skill(&name.value, lowering.loaded));
    Ok(Box::new(AgentWork {
        model: agent.choice().ok_or(LoweringError::Broken)?,
        engine: agent.engine.unwrap_or_default(),
        command: agent.command.iter().flatten().map(|word| word.value.clone()).collect(),
        briefing: step.briefing.as_deref().map(str::trim).unwrap_or_default().to_owned(),
        with: with.map(|(name, value)| (name.value.clone(), value.value.0.clone())).collect(),
        recall: agent.recall.as_ref().map(|task| task.value.clone()),
        tools: agent.tools.iter().map(|tool| tool.value).collect(),
        untrusted: agent.untrusted.iter().map(|path| path.value.0.clone()).collect(),
        when_untrusted: agent.when_untrusted.iter().map(|(tool, rule)| (tool.value.clone(), *rule)).collect(),
        skills: skills.collect::<Option<_>>().ok_or(LoweringError::Broken)?,
        mcp: agent.mcp.iter().map(|server| server.value.clone()).collect(),
        fetch: agent.fetch.iter().map(|host| host.value.0.clone()).collect(),
        max_questions: agent.max_questions.as_ref().map_or(AgentWork::MAX_QUESTIONS, |count| count.value),
        workspace: agent.workspace.unwrap_or_default(),
        merge: agent.merge.unwrap_or_default(),
        max_turns: agent.max_turns.as_ref().map_or(AgentWork::MAX_TURNS, |turns| turns.value),
        dispatch: dispatch.map(Box::new),
        persona: agent.persona.as_ref().map(|used| persona(&used.0, file, lowering)).transpose()?,
        interaction: agent.interaction.as_ref().map(ast::InteractionSpec::lower),
        conversation: agent.conversation.as_ref().map(|conversation| ConversationUse {
            name: conversation.value.clone(),
            idle: agent.conversation_idle.as_ref().map_or(ConversationUse::IDLE, |idle| idle.value.0),
        }),
    }))
}

/// Returns a persona, with what its file says.
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
        max: dispatch.max.as_ref().map_or(AgentDispatch::MAX, |max| max.value),
        max_parallel: dispatch.max_parallel.as_ref().map_or(AgentDispatch::MAX_PARALLEL, |max| max.value),
    })
}

fn http(http: &ast::HttpSpec) -> HttpCall {
    let headers = http.headers.iter();
    let outputs = http.outputs.iter();
    HttpCall {
        method: http.method.unwrap_or_default().as_str().to_owned(),
        url: http.url.value.clone(),
        headers: headers.map(|(name, value)| (name.value.clone(), value.clone())).collect(),
        body: http.body.clone(),
        expect: http.expect.as_ref().map(|expect| expect.status.0.clone()).unwrap_or_default(),
        outputs: outputs.map(|(name, path)| (name.value.clone(), path.value.0.clone())).collect(),
    }
}

fn wait_for(wait: &ast::WaitSpec) -> Option<WaitCondition> {
    let duration = wait.duration.map(|period| WaitCondition::For(period.0));
    let until = || wait.until.map(WaitCondition::Until);
    let file = || wait.file.as_ref().map(|file| WaitCondition::File(file.value.clone()));
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
    let Some(retry_spec) = given_retry else {
        return Arc::clone(default_policy);
    };
    Arc::new(RetryPolicy {
        max: retry_spec.max,
        backoff: retry_spec.backoff.map_or(default_policy.backoff, |period| period.0),
        factor: retry_spec.factor.as_ref().map_or(default_policy.factor, |factor| factor.value),
        max_delay: retry_spec.max_delay.map_or(default_policy.max_delay, |period| period.0),
        jitter: retry_spec.jitter.as_ref().map_or(default_policy.jitter, |jitter| jitter.value),
        on: retry_spec.on.clone().unwrap_or_else(|| default_policy.on.clone()),
    })
}

/// The limits for sending the work back.
fn loops(spec: Option<&ast::LoopsSpec>) -> ReworkLimit {
    let usual = ReworkLimit::default();
    ReworkLimit {
        max: spec.and_then(|loops_spec| loops_spec.max).unwrap_or(usual.max),
        on_exhausted: spec.map_or(usual.on_exhausted, |loops_spec| loops_spec.on_exhausted),
    }
}

fn outputs(step: &ast::StepSpec) -> Vec<RequiredOutput> {
    let declared = step.outputs.iter();
    let declared = declared
        .map(|(name, output)| RequiredOutput { name: name.value.clone(), schema: output.schema.clone() });
    let mut outputs: Vec<RequiredOutput> = declared.collect();
    outputs.extend(step.approve.iter().flat_map(|approve| work::answer_outputs(&approve.value)));
    outputs
}

/// The outputs declared as external.
fn external(step: &ast::StepSpec) -> Vec<Name> {
    let declared = step.outputs.iter().filter(|(_, output)| output.external);
    declared.map(|(name, _)| name.value.clone()).collect()
}
