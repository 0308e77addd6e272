use super::exact::{exact_duration, json};
use super::plan::{ShownPlans, about, bound, env, limits};
use super::{RiskDirection, SummaryBuilder, SummaryLineKind, check, gate, work};
use wf_base::name::Name;
use wf_model::expr::Expr;
use wf_model::expr::{ExprReference, SpannedReference, Template};
use wf_model::{
    Alternative, Check, CheckPhase, FailureClassRule, OnReworkExhausted, OnStepError, Plan, RequiredOutput,
    RetryPolicy, ReworkLimit, SandboxPermissions, Step, StepCache, StepIx, StepRepetition, StepWork,
};

pub(super) fn step(step: &Step, plan: &Plan, used: &mut ShownPlans, sheet: &mut SummaryBuilder) {
    let Step {
        id: _, // The part that all its lines stand in.
        title,
        depends_on,
        when,
        fan: over,
        max_parallel,
        work: does,
        container: _, // It stands with the sandbox.
        env: variables,
        cwd,
        timeout,
        queue_timeout,
        retry: again,
        idempotent,
        on_stuck,
        verify,
        loops,
        outputs,
        external,
        artifacts,
        writes,
        cache: kept,
        concurrency,
        runs_on,
        on_error,
        allow: _,  // It stands with the sandbox,
        limits: _, // and so do these.
        classify: rules,
        gates,
        tool,
        target,
        alternatives: _, // Each stands in a part of its own.
        briefing,
    } = step;
    // The briefing of an agent is its work, and shown as that.
    let prose = briefing.as_deref().filter(|_| !matches!(does, StepWork::Agent(_)));
    about(sheet, title.as_deref(), prose);
    dependencies(depends_on, plan, sheet);
    condition(when.as_deref(), sheet);
    fan(over, *max_parallel, sheet);
    gate::names(gates, sheet);
    work_word("tool", tool.as_deref(), sheet);
    work_word("target", target.as_deref(), sheet);
    work::work(does, used, sheet);
    env(variables, sheet);
    work_word("cwd", cwd.as_ref().map(Template::source), sheet);
    secrets(step, sheet);
    confinement(step, sheet);
    bound(sheet, "timeout", *timeout);
    bound(sheet, "queue_timeout", *queue_timeout);
    retry(again, sheet);
    super::replan::guidance(*on_stuck, sheet);
    flags(*idempotent, *on_error, concurrency.as_deref(), sheet);
    queue(runs_on.as_ref(), sheet);
    checks(verify, *loops, sheet);
    input_lines(outputs, external, sheet);
    files(artifacts, writes, sheet);
    cache(kept.as_deref(), sheet);
    classify(rules, sheet, "");
}

fn dependencies(depends_on: &[StepIx], plan: &Plan, sheet: &mut SummaryBuilder) {
    for ix in depends_on {
        let id = plan.step(*ix).id.as_str();
        sheet.add_each(SummaryLineKind::Graph, RiskDirection::Guard, "depends_on", &[id.to_owned()]);
    }
}

fn files(artifacts: &[Template], writes: &[Template], sheet: &mut SummaryBuilder) {
    sheet.add_each(SummaryLineKind::Data, RiskDirection::Guard, "artifacts", &sources(artifacts));
    sheet.add_each(SummaryLineKind::Data, RiskDirection::Grant, "writes", &sources(writes));
}

/// The differences in one of a step's alternatives.
pub(super) fn way(other: &Alternative, used: &mut ShownPlans, sheet: &mut SummaryBuilder) {
    let step = &other.step;
    work_word("tool", step.tool.as_deref(), sheet);
    work_word("target", step.target.as_deref(), sheet);
    work::work(&step.work, used, sheet);
    env(&step.env, sheet);
    work_word("cwd", step.cwd.as_ref().map(Template::source), sheet);
    secrets(step, sheet);
    confinement(step, sheet);
    bound(sheet, "timeout", step.timeout);
    retry(&step.retry, sheet);
}

/// A word that describes the work, if there is one.
fn work_word(key: &str, word: Option<&str>, sheet: &mut SummaryBuilder) {
    if let Some(word) = word {
        sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, key, word);
    }
}

fn fan(fan: &StepRepetition, max_parallel: Option<u32>, sheet: &mut SummaryBuilder) {
    let (key, text) = match fan {
        StepRepetition::Once => return,
        StepRepetition::Each(list) => ("for_each", list.source().to_owned()),
        StepRepetition::List(items) => ("for_each", json(&items.clone().into())),
        StepRepetition::Matrix(items) => {
            let items: Vec<_> = items.iter().cloned().map(serde_json::Value::Object).collect();
            ("matrix", json(&items.into()))
        }
    };
    sheet.add_line(SummaryLineKind::Graph, RiskDirection::Plain, key, text);
    if let Some(count) = max_parallel {
        let sense = RiskDirection::AtMost(f64::from(count));
        sheet.add_line(SummaryLineKind::Effort, sense, "max_parallel", count.to_string());
    }
}

/// The secrets that a step is given, by name.
fn secrets(step: &Step, sheet: &mut SummaryBuilder) {
    let mut names: Vec<String> = work::reads(step)
        .iter()
        .filter_map(|SpannedReference { name, .. }| match name {
            ExprReference::Secret(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    names.sort();
    names.dedup();
    sheet.add_each(SummaryLineKind::Reach, RiskDirection::Grant, "secrets", &names);
}

/// The boundary of a process: its container, its sandbox or none.
fn confinement(step: &Step, sheet: &mut SummaryBuilder) {
    if let Some(image) = &step.container {
        work_word("container", Some(image), sheet);
        let text = "a container: it sees only its image and the workspace, which it may change, and any host";
        sheet.add_line(SummaryLineKind::Reach, RiskDirection::AtMost(0.5), "sandbox", text);
    } else if matches!(step.work, StepWork::Run(_) | StepWork::Exec(_) | StepWork::Skill(_)) {
        sandbox(step.allow.as_deref(), &step.limits, sheet);
    }
}

fn sandbox(allow: Option<&SandboxPermissions>, most: &wf_model::ResourceLimits, sheet: &mut SummaryBuilder) {
    let reach = |sheet: &mut SummaryBuilder, level, key: &str, text: &str| {
        sheet.add_line(SummaryLineKind::Reach, RiskDirection::AtMost(level), key, text);
    };
    let Some(allow) = allow else {
        return reach(sheet, 1.0, "sandbox", "none: it may do whatever your user may do");
    };
    let SandboxPermissions { read, write, net, env, exec } = allow;
    reach(sheet, 0.0, "sandbox", "it may do only what `allow` permits");
    let grants = [("read", read), ("write", write), ("env", env)];
    for (key, list) in grants {
        sheet.add_each(SummaryLineKind::Reach, RiskDirection::Grant, &format!("allow.{key}"), list);
    }
    if *net {
        reach(sheet, 1.0, "allow.net", "true: any host");
    } else {
        reach(sheet, 0.0, "allow.net", "false");
    }
    match exec {
        None => reach(sheet, 1.0, "allow.exec", "every program it can read"),
        Some(programs) => {
            reach(sheet, 0.0, "allow.exec", "only the listed programs");
            sheet.add_each(SummaryLineKind::Reach, RiskDirection::Grant, "allow.exec", programs);
        }
    }
    limits(most, sheet, "");
}

fn retry(retry: &RetryPolicy, sheet: &mut SummaryBuilder) {
    let RetryPolicy { max, backoff, factor, max_delay, jitter, on } = retry;
    let most = RiskDirection::AtMost(f64::from(*max));
    sheet.add_line(SummaryLineKind::Effort, most, "retry.max", max.to_string());
    if *max == 0 {
        return sheet.mark_default(true);
    }
    let mut effort = |sense, key: &str, text: String| {
        sheet.add_line(SummaryLineKind::Effort, sense, &format!("retry.{key}"), text);
    };
    effort(RiskDirection::Plain, "backoff", exact_duration(*backoff));
    effort(RiskDirection::Plain, "factor", factor.to_string());
    effort(RiskDirection::Plain, "max_delay", exact_duration(*max_delay));
    effort(RiskDirection::Plain, "jitter", jitter.to_string());
    for class in on {
        let word = class.as_str();
        effort(RiskDirection::Grant, &format!("on[{word}]"), word.into());
    }
}

fn checks(checks: &[Check], loops: ReworkLimit, sheet: &mut SummaryBuilder) {
    for own in checks {
        check::check(own, sheet);
    }
    if checks.iter().any(|own| own.phase != CheckPhase::Verify) {
        loop_lines(loops, sheet);
    }
}

/// The number of times that `inspect` and `test` send the work back, and the effect of the last.
fn loop_lines(loops: ReworkLimit, sheet: &mut SummaryBuilder) {
    let ReworkLimit { max, on_exhausted } = loops;
    let most = RiskDirection::AtMost(f64::from(max));
    sheet.add_line(SummaryLineKind::Effort, most, "loops.max", max.to_string());
    sheet.mark_default(max == ReworkLimit::default().max);
    let (text, level) = match on_exhausted {
        OnReworkExhausted::Fail => ("fail", 0.0),
        OnReworkExhausted::Ask => ("ask: an approver may let a phase of checks be ignored", 1.0),
    };
    let key = "loops.on_exhausted";
    sheet.add_line(SummaryLineKind::Proof, RiskDirection::AtMost(level), key, text);
    sheet.mark_default(on_exhausted == OnReworkExhausted::Fail);
}

fn flags(idempotent: bool, on_error: OnStepError, lock: Option<&str>, sheet: &mut SummaryBuilder) {
    if idempotent {
        let text = "true: an interrupted attempt is re-run";
        sheet.add_line(SummaryLineKind::Effort, RiskDirection::Grant, "idempotent", text);
    }
    let (word, level) = match on_error {
        OnStepError::Fail => ("fail", 0.0),
        OnStepError::Continue => ("continue: the run continues as if it had succeeded", 1.0),
    };
    sheet.add_line(SummaryLineKind::Proof, RiskDirection::AtMost(level), "on_error", word);
    sheet.mark_default(on_error == OnStepError::Fail);
    if let Some(lock) = lock {
        let text = format!("it holds the lock {lock}");
        sheet.add_line(SummaryLineKind::Effort, RiskDirection::Plain, "concurrency", text);
    }
}

fn condition(when: Option<&Expr>, sheet: &mut SummaryBuilder) {
    if let Some(when) = when {
        sheet.add_line(SummaryLineKind::Graph, RiskDirection::Plain, "when", when.source());
    }
}

fn queue(runs_on: Option<&Name>, sheet: &mut SummaryBuilder) {
    if let Some(queue) = runs_on {
        let text = format!("the workers of the queue {queue} run it, on a backend");
        sheet.add_line(SummaryLineKind::Effort, RiskDirection::Plain, "runs_on", text);
    }
}

fn input_lines(outputs: &[RequiredOutput], external: &[Name], sheet: &mut SummaryBuilder) {
    for own in outputs {
        output(own, sheet);
        if external.contains(&own.name) {
            let key = format!("outputs.{}.taint", own.name);
            sheet.add_line(SummaryLineKind::Data, RiskDirection::Plain, &key, "external");
        }
    }
}

fn output(output: &RequiredOutput, sheet: &mut SummaryBuilder) {
    let RequiredOutput { name, schema } = output;
    let key = format!("outputs.{name}");
    sheet.add_line(SummaryLineKind::Data, RiskDirection::Guard, &key, json(schema.text()));
}

fn cache(cache: Option<&StepCache>, sheet: &mut SummaryBuilder) {
    let Some(StepCache { inputs, outputs }) = cache else {
        return;
    };
    let text = "its result may be reused while its inputs are unchanged";
    sheet.add_line(SummaryLineKind::Data, RiskDirection::Grant, "cache", text);
    sheet.add_each(SummaryLineKind::Data, RiskDirection::Guard, "cache.inputs", inputs);
    sheet.add_each(SummaryLineKind::Data, RiskDirection::Grant, "cache.outputs", &sources(outputs));
}

/// Templates as they are written.
fn sources(templates: &[Template]) -> Vec<String> {
    let all = templates.iter();
    all.map(|glob| glob.source().to_owned()).collect()
}

/// The rules for the class of a failure, and so for its retry.
pub(super) fn classify(rules: &[FailureClassRule], sheet: &mut SummaryBuilder, before: &str) {
    for (at, rule) in rules.iter().enumerate() {
        let FailureClassRule { exit_code, signal, output, class } = rule;
        let mut ifs = Vec::new();
        if !exit_code.is_empty() {
            ifs.push(format!("exit code {}", json(&exit_code.clone().into())));
        }
        ifs.extend(signal.map(|signal| format!("signal {signal}")));
        ifs.extend(output.iter().map(|output| format!("output matching {}", output.as_str())));
        let text = format!("{} if {}", class.as_str(), ifs.join(" and "));
        let key = format!("{before}classify[{}]", at + 1);
        sheet.add_line(SummaryLineKind::Effort, RiskDirection::Plain, &key, text);
    }
}
