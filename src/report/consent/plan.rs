use std::collections::VecDeque;
use std::sync::Arc;

use super::exact::{json, period, weight, words};
use super::{Kind, Sense, Sheet, budget, check, gate, step};
use crate::model::taint::{Mixed, StepTaint, Taints};
use crate::model::{
    EnvVar, Gate, OnFailure, Param, Parts, Plan, PlanOutput, Policy, Secret, SecretSource, Step,
    Taint,
};
use crate::name::SkillName;

/// Plans that are shown already, or will be.
pub(super) struct Used {
    seen: Vec<(Arc<Plan>, String)>,
    open: VecDeque<(Arc<Plan>, String)>,
    root: String,
    gates: Vec<Arc<Gate>>,
    taints: Taints,
}

impl Used {
    /// Whether a gate is not shown yet; it will be.
    fn is_new(&mut self, gate: &Arc<Gate>) -> bool {
        let same = |seen: &Arc<Gate>| {
            let one_file = seen.path.is_some() && seen.path == gate.path;
            one_file || Arc::ptr_eq(seen, gate)
        };
        let is_new = !self.gates.iter().any(same);
        if is_new {
            self.gates.push(Arc::clone(gate));
        }
        is_new
    }

    /// The name under which a plan that a step uses is shown.
    pub(super) fn name(&mut self, plan: &Arc<Plan>, path: &str) -> String {
        let known = self.seen.iter().find(|(seen, _)| Arc::ptr_eq(seen, plan));
        if let Some((_, name)) = known {
            return name.clone();
        }
        let named = |seen: &&(Arc<Plan>, String)| seen.1.split(" (").next() == Some(path);
        let times = self.seen.iter().filter(named).count() + usize::from(self.root == path);
        let name = match times {
            0 => path.to_owned(),
            n => format!("{path} ({})", n + 1),
        };
        self.seen.push((Arc::clone(plan), name.clone()));
        self.open.push_back((Arc::clone(plan), name.clone()));
        name
    }
}

/// A plan and every plan that it uses, each once.
pub(super) fn plans(plan: &Plan, path: &str, sheet: &mut Sheet) {
    let mut used = Used {
        seen: Vec::new(),
        open: VecDeque::new(),
        root: path.to_owned(),
        gates: Vec::new(),
        taints: Taints::default(),
    };
    one(plan, &mut used, sheet);
    while let Some((plan, name)) = used.open.pop_front() {
        sheet.of_plan(&name);
        one(&plan, &mut used, sheet);
    }
}

fn one(plan: &Plan, used: &mut Used, sheet: &mut Sheet) {
    let Parts {
        id,
        title,
        params,
        env: variables,
        secrets,
        skills,
        policy: shared,
        timeout,
        budget: whole,
        steps,
        main,
        verify,
        outputs,
        gates,
        escalations,
        replan,
        planner,
        on_stuck,
        briefing,
    } = plan.parts();
    sheet.put(Kind::About, Sense::Plain, "id", id.as_str());
    about(sheet, title.as_deref(), Some(briefing));
    order(plan, sheet);
    for own in params {
        param(own, sheet);
    }
    env(variables, sheet);
    for own in secrets {
        secret(own, sheet);
    }
    may_use(skills.as_deref(), sheet);
    policy(shared, sheet);
    bound(sheet, "timeout", *timeout);
    budget::budget(whole.as_ref(), sheet);
    for own in verify {
        check::check(own, sheet);
    }
    for own in outputs {
        output(own, sheet);
    }
    gate::names(gates, sheet);
    gate::escalations(escalations, sheet);
    super::replan::replan(replan.as_ref(), sheet);
    super::replan::planner(planner.as_ref(), *on_stuck, sheet);
    let trust = used.taints.of(plan);
    for (at, own) in steps.iter().enumerate() {
        let part = if at < *main { "steps" } else { "finally" };
        sheet.inside(&format!("{part}.{}", own.id));
        step::step(own, plan, used, sheet);
        if let Some(value) = trust.steps.get(own.id.as_str()) {
            taint(own, value, sheet);
        }
        for other in &own.alternatives {
            sheet.inside(&format!("{part}.{}.alternatives.{}", own.id, other.id));
            step::way(other, used, sheet);
        }
    }
    asked(plan, used, sheet);
}

/// The skills that a plan may use, if it says so.
fn may_use(skills: Option<&[SkillName]>, sheet: &mut Sheet) {
    if let Some(skills) = skills {
        let names: Vec<String> = skills.iter().map(ToString::to_string).collect();
        sheet.each(Kind::Work, Sense::Plain, "skills", &names);
    }
}

/// The gates of a plan and of its steps that were not shown before.
fn asked(plan: &Plan, used: &mut Used, sheet: &mut Sheet) {
    let of_steps = plan.steps().iter().flat_map(|step| &step.gates);
    for own in plan.parts().gates.iter().chain(of_steps) {
        if used.is_new(own) {
            sheet.inside(&format!("gates.{}", own.id));
            gate::gate(own, sheet);
        }
    }
}

/// How far what a step gives is trusted, where that is not fully.
fn taint(step: &Step, value: &StepTaint, sheet: &mut Sheet) {
    let outputs = step
        .outputs
        .iter()
        .map(|output| value.output(output.name.as_str()));
    let files = (!step.artifacts.is_empty()).then_some(&value.made);
    let given = Mixed::all(outputs.chain(files).chain(value.outputs.values()));
    if let Some(from) = given.from {
        let text = format!("{}: what it gives comes from {from}", given.taint.as_str());
        sheet.put(Kind::Data, Sense::Plain, "taint", text);
    }
}

/// Words for people: they are shown, and decide nothing.
pub(super) fn about(sheet: &mut Sheet, title: Option<&str>, prose: Option<&str>) {
    if let Some(title) = title {
        sheet.put(Kind::About, Sense::Plain, "title", title);
    }
    if let Some(prose) = prose.filter(|prose| !prose.trim().is_empty()) {
        sheet.put(Kind::About, Sense::Plain, "prose", prose);
    }
}

fn order(plan: &Plan, sheet: &mut Sheet) {
    let ids: Vec<&str> = plan
        .order()
        .into_iter()
        .map(|ix| plan.step(ix).id.as_str())
        .collect();
    sheet.put(Kind::Graph, Sense::Plain, "order", ids.join(", "));
}

fn param(param: &Param, sheet: &mut Sheet) {
    let Param {
        name,
        schema,
        default,
        taint,
        description,
    } = param;
    let key = format!("params.{name}");
    sheet.put(Kind::Data, Sense::Plain, &key, json(schema.text()));
    if let Some(default) = default {
        sheet.put(
            Kind::Data,
            Sense::Plain,
            &format!("{key}.default"),
            json(default),
        );
    }
    sheet.put(
        Kind::Data,
        Sense::Plain,
        &format!("{key}.taint"),
        taint.as_str(),
    );
    sheet.usual(*taint == Taint::Owner);
    if let Some(text) = description {
        sheet.put(
            Kind::About,
            Sense::Plain,
            &format!("{key}.description"),
            text,
        );
    }
}

/// Variables, by name.
pub(super) fn env(variables: &[EnvVar], sheet: &mut Sheet) {
    for EnvVar { name, value } in variables {
        let key = format!("env.{name}");
        sheet.put(Kind::Work, Sense::Plain, &key, value.source());
    }
}

fn secret(secret: &Secret, sheet: &mut Sheet) {
    let Secret {
        name,
        source,
        masked,
    } = secret;
    let key = format!("secrets.{name}");
    let from = match source {
        SecretSource::Env(variable) => format!("from the variable {variable}"),
        SecretSource::File(path) => format!("from the file {path}"),
        SecretSource::Command(argv) => {
            let argv = words(argv.iter().map(String::as_str));
            format!("from what this program prints: {argv}")
        }
        SecretSource::Keyring { service, account } => {
            format!("from the keyring: {account} at {service}")
        }
        SecretSource::Connection { name, secret } => {
            format!("from the connection {name}: {secret}")
        }
    };
    sheet.put(Kind::Reach, Sense::Grant, &key, from);
    let (text, level) = if *masked {
        ("yes: it is hidden in all that is shown and kept", 0.0)
    } else {
        ("no: it can stand in logs and records", 1.0)
    };
    let key = format!("{key}.mask");
    sheet.put(Kind::Reach, Sense::AtMost(level), &key, text);
    sheet.usual(*masked);
}

fn policy(policy: &Policy, sheet: &mut Sheet) {
    let Policy {
        max_parallel,
        on_failure,
        grace,
    } = policy;
    let effort = |sense, key: &str, text: String, sheet: &mut Sheet| {
        sheet.put(Kind::Effort, sense, &format!("policy.{key}"), text);
    };
    let most = Sense::AtMost(f64::from(*max_parallel));
    effort(most, "max_parallel", max_parallel.to_string(), sheet);
    let word = match on_failure {
        OnFailure::Stop => "stop",
        OnFailure::Cancel => "cancel",
        OnFailure::Continue => "continue",
    };
    effort(Sense::Plain, "on_failure", word.into(), sheet);
    effort(Sense::Plain, "grace", period(*grace), sheet);
}

/// A longest time.
pub(super) fn bound(sheet: &mut Sheet, key: &str, time: Option<std::time::Duration>) {
    let (text, most) = match time {
        Some(time) => (period(time), time.as_secs_f64()),
        None => ("none".into(), f64::INFINITY),
    };
    sheet.put(Kind::Effort, Sense::AtMost(most), key, text);
    sheet.usual(time.is_none());
}

/// How much a process may use.
pub(super) fn limits(limits: &crate::model::Limits, sheet: &mut Sheet, before: &str) {
    let crate::model::Limits {
        memory,
        cpu,
        processes,
        scratch,
        output,
    } = limits;
    let sizes = [("memory", memory), ("scratch", scratch), ("output", output)];
    for (key, size) in sizes {
        let said = size.map(|size| (super::exact::bytes(size), weight(size)));
        limit(sheet, &format!("{before}limits.{key}"), said);
    }
    let said = cpu.map(|time| (period(time), time.as_secs_f64()));
    limit(sheet, &format!("{before}limits.cpu"), said);
    let said = processes.map(|count| (count.to_string(), f64::from(count)));
    limit(sheet, &format!("{before}limits.processes"), said);
}

fn limit(sheet: &mut Sheet, key: &str, said: Option<(String, f64)>) {
    if let Some((text, most)) = said {
        sheet.put(Kind::Reach, Sense::AtMost(most), key, text);
    }
}

fn output(output: &PlanOutput, sheet: &mut Sheet) {
    let PlanOutput {
        name,
        schema,
        value,
    } = output;
    let key = format!("outputs.{name}");
    sheet.put(Kind::Data, Sense::Plain, &key, json(schema.text()));
    let key = format!("{key}.value");
    sheet.put(Kind::Data, Sense::Plain, &key, value.source());
}
