use super::exact::{json, period};
use super::plan::{Used, about, bound, env, limits};
use super::{Kind, Sense, Sheet, check, gate, work};
use crate::expr::{Ref, SpannedRef, Template};
use crate::model::{
    Allow, Alternative, Cache, Check, CheckPhase, Class, ClassRule, Exhausted, Fan, Loops, OnError,
    Output, Plan, Retry, Step, Work,
};
use crate::name::Name;

pub(super) fn step(step: &Step, plan: &Plan, used: &mut Used, sheet: &mut Sheet) {
    let Step {
        id: _, // The part that all its lines stand in.
        title,
        depends_on,
        when,
        fan: over,
        max_parallel,
        work: does,
        env: variables,
        cwd,
        timeout,
        queue_timeout,
        retry: again,
        idempotent,
        verify,
        loops,
        outputs,
        external,
        artifacts,
        writes,
        cache: kept,
        concurrency,
        on_error,
        allow,
        limits: most,
        classify: rules,
        gates,
        tool,
        target,
        alternatives: _, // Each stands in a part of its own.
        briefing,
    } = step;
    about(sheet, title.as_deref(), briefing.as_deref());
    for ix in depends_on {
        let id = plan.step(*ix).id.as_str();
        sheet.each(Kind::Graph, Sense::Guard, "depends_on", &[id.to_owned()]);
    }
    if let Some(when) = when {
        sheet.put(Kind::Graph, Sense::Plain, "when", when.source());
    }
    fan(over, *max_parallel, sheet);
    gate::names(gates, sheet);
    said("tool", tool.as_deref(), sheet);
    said("target", target.as_deref(), sheet);
    work::work(does, used, sheet);
    env(variables, sheet);
    said("cwd", cwd.as_ref().map(Template::source), sheet);
    secrets(step, sheet);
    if matches!(does, Work::Run(_) | Work::Exec(_) | Work::Skill(_)) {
        sandbox(allow.as_deref(), most, sheet);
    }
    bound(sheet, "timeout", *timeout);
    bound(sheet, "queue_timeout", *queue_timeout);
    retry(again, sheet);
    flags(*idempotent, *on_error, concurrency.as_deref(), sheet);
    checks(verify, *loops, sheet);
    given(outputs, external, sheet);
    files(artifacts, writes, sheet);
    cache(kept.as_deref(), sheet);
    classify(rules, sheet, "");
}

fn files(artifacts: &[Template], writes: &[Template], sheet: &mut Sheet) {
    sheet.each(Kind::Data, Sense::Guard, "artifacts", &sources(artifacts));
    sheet.each(Kind::Data, Sense::Grant, "writes", &sources(writes));
}

/// What is done instead, in one of a step's alternatives.
pub(super) fn way(other: &Alternative, used: &mut Used, sheet: &mut Sheet) {
    let step = &other.step;
    said("tool", step.tool.as_deref(), sheet);
    said("target", step.target.as_deref(), sheet);
    work::work(&step.work, used, sheet);
    env(&step.env, sheet);
    said("cwd", step.cwd.as_ref().map(Template::source), sheet);
    secrets(step, sheet);
    if matches!(step.work, Work::Run(_) | Work::Exec(_) | Work::Skill(_)) {
        sandbox(step.allow.as_deref(), &step.limits, sheet);
    }
    bound(sheet, "timeout", step.timeout);
    retry(&step.retry, sheet);
}

/// A word of what is done, where there is one.
fn said(key: &str, word: Option<&str>, sheet: &mut Sheet) {
    if let Some(word) = word {
        sheet.put(Kind::Work, Sense::Plain, key, word);
    }
}

fn fan(fan: &Fan, max_parallel: Option<u32>, sheet: &mut Sheet) {
    let (key, text) = match fan {
        Fan::Once => return,
        Fan::Each(list) => ("for_each", list.source().to_owned()),
        Fan::List(items) => ("for_each", json(&items.clone().into())),
        Fan::Matrix(items) => {
            let items: Vec<_> = items
                .iter()
                .cloned()
                .map(serde_json::Value::Object)
                .collect();
            ("matrix", json(&items.into()))
        }
    };
    sheet.put(Kind::Graph, Sense::Plain, key, text);
    if let Some(count) = max_parallel {
        let sense = Sense::AtMost(f64::from(count));
        sheet.put(Kind::Effort, sense, "max_parallel", count.to_string());
    }
}

/// The secrets that a step is given, by name.
fn secrets(step: &Step, sheet: &mut Sheet) {
    let mut names: Vec<String> = work::reads(step)
        .iter()
        .filter_map(|SpannedRef { name, .. }| match name {
            Ref::Secret(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    names.sort();
    names.dedup();
    sheet.each(Kind::Reach, Sense::Grant, "secrets", &names);
}

fn sandbox(allow: Option<&Allow>, most: &crate::model::Limits, sheet: &mut Sheet) {
    let reach = |sheet: &mut Sheet, level, key: &str, text: &str| {
        sheet.put(Kind::Reach, Sense::AtMost(level), key, text);
    };
    let Some(allow) = allow else {
        return reach(sheet, 1.0, "sandbox", "none: it may do whatever you may do");
    };
    let Allow {
        read,
        write,
        net,
        env,
        exec,
    } = allow;
    reach(sheet, 0.0, "sandbox", "it may do only what `allow` names");
    let grants = [("read", read), ("write", write), ("env", env)];
    for (key, list) in grants {
        sheet.each(Kind::Reach, Sense::Grant, &format!("allow.{key}"), list);
    }
    if *net {
        reach(sheet, 1.0, "allow.net", "true: any host");
    } else {
        reach(sheet, 0.0, "allow.net", "false");
    }
    match exec {
        None => reach(sheet, 1.0, "allow.exec", "every program that it can read"),
        Some(programs) => {
            reach(sheet, 0.0, "allow.exec", "only the programs that are named");
            sheet.each(Kind::Reach, Sense::Grant, "allow.exec", programs);
        }
    }
    limits(most, sheet, "");
}

fn retry(retry: &Retry, sheet: &mut Sheet) {
    let Retry {
        max,
        backoff,
        factor,
        max_delay,
        jitter,
        on,
    } = retry;
    let mut effort = |sense, key: &str, text: String| {
        sheet.put(Kind::Effort, sense, &format!("retry.{key}"), text);
    };
    effort(Sense::AtMost(f64::from(*max)), "max", max.to_string());
    if *max == 0 {
        return sheet.usual(true);
    }
    let mut effort = |sense, key: &str, text: String| {
        sheet.put(Kind::Effort, sense, &format!("retry.{key}"), text);
    };
    effort(Sense::Plain, "backoff", period(*backoff));
    effort(Sense::Plain, "factor", factor.to_string());
    effort(Sense::Plain, "max_delay", period(*max_delay));
    effort(Sense::Plain, "jitter", jitter.to_string());
    for class in on {
        let word = class_word(*class);
        effort(Sense::Grant, &format!("on[{word}]"), word.into());
    }
}

fn checks(checks: &[Check], loops: Loops, sheet: &mut Sheet) {
    for own in checks {
        check::check(own, sheet);
    }
    if checks.iter().any(|own| own.phase != CheckPhase::Verify) {
        looped(loops, sheet);
    }
}

/// How often `inspect` and `test` send the work back, and what follows then.
fn looped(loops: Loops, sheet: &mut Sheet) {
    let Loops { max, on_exhausted } = loops;
    let most = Sense::AtMost(f64::from(max));
    sheet.put(Kind::Effort, most, "loops.max", max.to_string());
    sheet.usual(max == Loops::default().max);
    let (text, level) = match on_exhausted {
        Exhausted::Fail => ("fail", 0.0),
        Exhausted::Ask => ("ask: people may let a phase of checks be ignored", 1.0),
    };
    let key = "loops.on_exhausted";
    sheet.put(Kind::Proof, Sense::AtMost(level), key, text);
    sheet.usual(on_exhausted == Exhausted::Fail);
}

fn class_word(class: Class) -> &'static str {
    match class {
        Class::Logical => "logical",
        Class::Environmental => "environmental",
        Class::Interrupted => "interrupted",
    }
}

fn flags(idempotent: bool, on_error: OnError, lock: Option<&str>, sheet: &mut Sheet) {
    if idempotent {
        let text = "true: it runs again if it was interrupted";
        sheet.put(Kind::Effort, Sense::Grant, "idempotent", text);
    }
    let (word, level) = match on_error {
        OnError::Fail => ("fail", 0.0),
        OnError::Continue => ("continue: the run goes on as if it had succeeded", 1.0),
    };
    sheet.put(Kind::Proof, Sense::AtMost(level), "on_error", word);
    sheet.usual(on_error == OnError::Fail);
    if let Some(lock) = lock {
        let text = format!("it holds the lock {lock}");
        sheet.put(Kind::Effort, Sense::Plain, "concurrency", text);
    }
}

fn given(outputs: &[Output], external: &[Name], sheet: &mut Sheet) {
    for own in outputs {
        output(own, sheet);
        if external.contains(&own.name) {
            let key = format!("outputs.{}.taint", own.name);
            sheet.put(Kind::Data, Sense::Plain, &key, "external");
        }
    }
}

fn output(output: &Output, sheet: &mut Sheet) {
    let Output { name, schema } = output;
    let key = format!("outputs.{name}");
    sheet.put(Kind::Data, Sense::Guard, &key, json(schema.text()));
}

fn cache(cache: Option<&Cache>, sheet: &mut Sheet) {
    let Some(Cache { inputs, outputs }) = cache else {
        return;
    };
    let text = "its result may be reused while what it depends on is the same";
    sheet.put(Kind::Data, Sense::Grant, "cache", text);
    sheet.each(Kind::Data, Sense::Guard, "cache.inputs", inputs);
    sheet.each(Kind::Data, Sense::Grant, "cache.outputs", &sources(outputs));
}

/// Templates as they are written.
fn sources(templates: &[Template]) -> Vec<String> {
    let all = templates.iter();
    all.map(|glob| glob.source().to_owned()).collect()
}

/// What decides the class of a failure, and so whether it is tried again.
pub(super) fn classify(rules: &[ClassRule], sheet: &mut Sheet, before: &str) {
    for (at, rule) in rules.iter().enumerate() {
        let ClassRule {
            exit_code,
            signal,
            output,
            class,
        } = rule;
        let mut ifs = Vec::new();
        if !exit_code.is_empty() {
            ifs.push(format!("exit code {}", json(&exit_code.clone().into())));
        }
        ifs.extend(signal.map(|signal| format!("signal {signal}")));
        ifs.extend(
            output
                .iter()
                .map(|output| format!("output like {}", output.as_str())),
        );
        let text = format!("{} if {}", class_word(*class), ifs.join(" and "));
        let key = format!("{before}classify[{}]", at + 1);
        sheet.put(Kind::Effort, Sense::Plain, &key, text);
    }
}
