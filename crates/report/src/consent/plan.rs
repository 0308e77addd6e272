use std::collections::VecDeque;
use std::sync::Arc;

use super::exact::{exact_duration, json, shell_words, weight};
use super::{RiskDirection, SummaryBuilder, SummaryLineKind, budget, check, gate, step};
use wf_base::name::SkillName;
use wf_model::expr::Template;
use wf_model::taint::{MixedTaint, StepTaint, TaintAnalysis};
use wf_model::{
    Check, EnvVar, Gate, InteractionMode, NestedPlan, Plan, PlanOutput, PlanParam, PlanParts, PlanPolicy,
    SecretDeclaration, SecretSource, Step, SuggestionSource, TaintLevel, UndoPlan, WorkItemType,
};

/// The plans that are shown already, or will be.
pub(super) struct ShownPlans {
    shown: Vec<(Arc<Plan>, String)>,
    queue: VecDeque<(Arc<Plan>, String)>,
    root: String,
    gates: Vec<Arc<Gate>>,
    taints: TaintAnalysis,
}

impl ShownPlans {
    /// True if a gate is not shown yet; it will be.
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
        let known = self.shown.iter().find(|(seen, _)| Arc::ptr_eq(seen, plan));
        if let Some((_, name)) = known {
            return name.clone();
        }
        let named = |seen: &&(Arc<Plan>, String)| seen.1.split(" (").next() == Some(path);
        let times = self.shown.iter().filter(named).count() + usize::from(self.root == path);
        let name = match times {
            0 => path.to_owned(),
            n => format!("{path} ({})", n + 1),
        };
        self.shown.push((Arc::clone(plan), name.clone()));
        self.queue.push_back((Arc::clone(plan), name.clone()));
        name
    }
}

/// A plan and every plan that it uses, each once.
pub(super) fn plans(plan: &Plan, path: &str, sheet: &mut SummaryBuilder) {
    let mut used = ShownPlans {
        shown: Vec::new(),
        queue: VecDeque::new(),
        root: path.to_owned(),
        gates: Vec::new(),
        taints: TaintAnalysis::default(),
    };
    add_plan(plan, &mut used, sheet);
    while let Some((plan, name)) = used.queue.pop_front() {
        sheet.set_plan(&name);
        add_plan(&plan, &mut used, sheet);
    }
}

/// The parameters of a plan.
fn inputs(params: &[PlanParam], sheet: &mut SummaryBuilder) {
    for own in params {
        param(own, sheet);
    }
}

/// The secrets of a plan.
fn hidden(secrets: &[SecretDeclaration], sheet: &mut SummaryBuilder) {
    for own in secrets {
        secret(own, sheet);
    }
}

/// The criteria of a plan.
fn criteria(verify: &[Check], sheet: &mut SummaryBuilder) {
    for own in verify {
        check::check(own, sheet);
    }
}

/// The kind of work that a plan says to be, and how its agents deal with people.
fn kind_of_work(kind: Option<WorkItemType>, mode: Option<InteractionMode>, sheet: &mut SummaryBuilder) {
    if let Some(kind) = kind {
        sheet.add_line(SummaryLineKind::About, RiskDirection::Plain, "type", kind.as_str());
    }
    if let Some(mode) = mode {
        sheet.add_line(SummaryLineKind::Effort, RiskDirection::Plain, "interaction_mode", mode.as_str());
    }
}

/// The plan that undoes a run, which is shown like a used one.
fn undone(undo: Option<&UndoPlan>, used: &mut ShownPlans, sheet: &mut SummaryBuilder) {
    let Some(UndoPlan { nested: NestedPlan { plan, path, with }, within }) = undo else {
        return;
    };
    let name = used.name(plan, path);
    sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, "undo.uses", name);
    for (param, value) in with {
        let key = format!("undo.with.{param}");
        sheet.add_line(SummaryLineKind::Data, RiskDirection::Plain, &key, value.source());
    }
    let time = exact_duration(*within);
    sheet.add_line(SummaryLineKind::Effort, RiskDirection::Plain, "undo.within", time);
}

/// The plans that its runs may suggest. A person starts one, with the approvals that it needs.
fn suggested(suggests: Option<&SuggestionSource>, sheet: &mut SummaryBuilder) {
    let Some(SuggestionSource { output, plans, limits: _ }) = suggests else {
        return;
    };
    sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, "suggests.output", output.as_str());
    let paths: Vec<String> = plans.iter().map(|plan| plan.path.clone()).collect();
    sheet.add_each(SummaryLineKind::Work, RiskDirection::Plain, "suggests.plans", &paths);
}

fn add_plan(plan: &Plan, used: &mut ShownPlans, sheet: &mut SummaryBuilder) {
    let PlanParts {
        id,
        title,
        intent,
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
        undo,
        suggests,
        work_type,
        interaction_mode,
        briefing,
    } = plan.parts();
    sheet.add_line(SummaryLineKind::About, RiskDirection::Plain, "id", id.as_str());
    kind_of_work(*work_type, *interaction_mode, sheet);
    about(sheet, title.as_deref(), Some(briefing));
    purpose(intent.as_ref(), sheet);
    order(plan, sheet);
    inputs(params, sheet);
    env(variables, sheet);
    hidden(secrets, sheet);
    may_use(skills.as_deref(), sheet);
    policy(shared, sheet);
    bound(sheet, "timeout", *timeout);
    budget::budget(whole.as_ref(), "budget", sheet);
    criteria(verify, sheet);
    for own in outputs {
        output(own, sheet);
    }
    gate::names(gates, sheet);
    gate::escalations(escalations, sheet);
    super::replan::replan(replan.as_ref(), sheet);
    super::replan::planner(planner.as_ref(), *on_stuck, sheet);
    undone(undo.as_deref(), used, sheet);
    suggested(suggests.as_deref(), sheet);
    add_steps(steps, *main, plan, used, sheet);
    unshown_gates(plan, used, sheet);
}

/// The steps of a plan, and their alternatives.
fn add_steps(steps: &[Step], main: usize, plan: &Plan, used: &mut ShownPlans, sheet: &mut SummaryBuilder) {
    let trust = used.taints.of(plan);
    for (at, own) in steps.iter().enumerate() {
        let part = if at < main { "steps" } else { "finally" };
        sheet.set_part(&format!("{part}.{}", own.id));
        step::step(own, plan, used, sheet);
        if let Some(value) = trust.steps.get(own.id.as_str()) {
            taint(own, value, sheet);
        }
        for other in &own.alternatives {
            sheet.set_part(&format!("{part}.{}.alternatives.{}", own.id, other.id));
            step::way(other, used, sheet);
        }
    }
}

/// The template by which memory knows the runs of a plan.
fn purpose(intent: Option<&Template>, sheet: &mut SummaryBuilder) {
    if let Some(intent) = intent {
        sheet.add_line(SummaryLineKind::Effort, RiskDirection::Plain, "intent", intent.source());
    }
}

/// The skills that a plan may use, if it lists them.
fn may_use(skills: Option<&[SkillName]>, sheet: &mut SummaryBuilder) {
    if let Some(skills) = skills {
        let names: Vec<String> = skills.iter().map(ToString::to_string).collect();
        sheet.add_each(SummaryLineKind::Work, RiskDirection::Plain, "skills", &names);
    }
}

/// The gates of a plan and of its steps that were not shown before.
fn unshown_gates(plan: &Plan, used: &mut ShownPlans, sheet: &mut SummaryBuilder) {
    let of_steps = plan.steps().iter().flat_map(|step| &step.gates);
    for own in plan.parts().gates.iter().chain(of_steps) {
        if used.is_new(own) {
            sheet.set_part(&format!("gates.{}", own.id));
            gate::gate(own, sheet);
        }
    }
}

/// The trust in what a step outputs, where it is less than full.
fn taint(step: &Step, value: &StepTaint, sheet: &mut SummaryBuilder) {
    let outputs = step.outputs.iter().map(|output| value.output(output.name.as_str()));
    let files = (!step.artifacts.is_empty()).then_some(&value.outputs_taint);
    let given = MixedTaint::mix_all(outputs.chain(files).chain(value.outputs.values()));
    if let Some(from) = given.from {
        let text = format!("{}: its outputs come from {from}", given.taint.as_str());
        sheet.add_line(SummaryLineKind::Data, RiskDirection::Plain, "taint", text);
    }
}

/// Text for readers: it is shown, and decides nothing.
pub(super) fn about(sheet: &mut SummaryBuilder, title: Option<&str>, prose: Option<&str>) {
    if let Some(title) = title {
        sheet.add_line(SummaryLineKind::About, RiskDirection::Plain, "title", title);
    }
    if let Some(prose) = prose.filter(|prose| !prose.trim().is_empty()) {
        sheet.add_line(SummaryLineKind::About, RiskDirection::Plain, "prose", prose);
    }
}

fn order(plan: &Plan, sheet: &mut SummaryBuilder) {
    let ids: Vec<&str> = plan.order().into_iter().map(|ix| plan.step(ix).id.as_str()).collect();
    sheet.add_line(SummaryLineKind::Graph, RiskDirection::Plain, "order", ids.join(", "));
}

fn param(param: &PlanParam, sheet: &mut SummaryBuilder) {
    let PlanParam { name, schema, default, taint, description } = param;
    let key = format!("params.{name}");
    sheet.add_line(SummaryLineKind::Data, RiskDirection::Plain, &key, json(schema.text()));
    if let Some(default) = default {
        sheet.add_line(SummaryLineKind::Data, RiskDirection::Plain, &format!("{key}.default"), json(default));
    }
    sheet.add_line(SummaryLineKind::Data, RiskDirection::Plain, &format!("{key}.taint"), taint.as_str());
    sheet.mark_default(*taint == TaintLevel::Owner);
    if let Some(text) = description {
        sheet.add_line(SummaryLineKind::About, RiskDirection::Plain, &format!("{key}.description"), text);
    }
}

/// Variables, by name.
pub(super) fn env(variables: &[EnvVar], sheet: &mut SummaryBuilder) {
    for EnvVar { name, value } in variables {
        let key = format!("env.{name}");
        sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, &key, value.source());
    }
}

fn secret(secret: &SecretDeclaration, sheet: &mut SummaryBuilder) {
    let SecretDeclaration { name, source, masked } = secret;
    let key = format!("secrets.{name}");
    let from = match source {
        SecretSource::Env(variable) => format!("from the environment variable {variable}"),
        SecretSource::File(path) => format!("from the file {path}"),
        SecretSource::Command(argv) => {
            let argv = shell_words(argv.iter().map(String::as_str));
            format!("from the output of this program: {argv}")
        }
        SecretSource::Keyring { service, account } => {
            format!("from the keyring: {account} at {service}")
        }
        SecretSource::Connection { name, secret } => {
            format!("from the connection {name}: {secret}")
        }
    };
    sheet.add_line(SummaryLineKind::Reach, RiskDirection::Grant, &key, from);
    let (text, level) = if *masked {
        ("yes: it is masked in output and records", 0.0)
    } else {
        ("no: it can appear in logs and records", 1.0)
    };
    let key = format!("{key}.mask");
    sheet.add_line(SummaryLineKind::Reach, RiskDirection::AtMost(level), &key, text);
    sheet.mark_default(*masked);
}

fn policy(policy: &PlanPolicy, sheet: &mut SummaryBuilder) {
    let PlanPolicy { max_parallel, on_failure, grace } = policy;
    let effort = |sense, key: &str, text: String, sheet: &mut SummaryBuilder| {
        sheet.add_line(SummaryLineKind::Effort, sense, &format!("policy.{key}"), text);
    };
    let most = RiskDirection::AtMost(f64::from(*max_parallel));
    effort(most, "max_parallel", max_parallel.to_string(), sheet);
    effort(RiskDirection::Plain, "on_failure", on_failure.as_str().into(), sheet);
    effort(RiskDirection::Plain, "grace", exact_duration(*grace), sheet);
}

/// A time limit.
pub(super) fn bound(sheet: &mut SummaryBuilder, key: &str, time: Option<std::time::Duration>) {
    let (text, most) = match time {
        Some(time) => (exact_duration(time), time.as_secs_f64()),
        None => ("none".into(), f64::INFINITY),
    };
    sheet.add_line(SummaryLineKind::Effort, RiskDirection::AtMost(most), key, text);
    sheet.mark_default(time.is_none());
}

/// The resource limits of a process.
pub(super) fn limits(limits: &wf_model::ResourceLimits, sheet: &mut SummaryBuilder, before: &str) {
    let wf_model::ResourceLimits { memory, cpu, processes, scratch, output } = limits;
    let sizes = [("memory", memory), ("scratch", scratch), ("output", output)];
    for (key, size) in sizes {
        let said = size.map(|size| (super::exact::exact_bytes(size), weight(size)));
        limit(sheet, &format!("{before}limits.{key}"), said);
    }
    let said = cpu.map(|time| (exact_duration(time), time.as_secs_f64()));
    limit(sheet, &format!("{before}limits.cpu"), said);
    let said = processes.map(|count| (count.to_string(), f64::from(count)));
    limit(sheet, &format!("{before}limits.processes"), said);
}

fn limit(sheet: &mut SummaryBuilder, key: &str, said: Option<(String, f64)>) {
    if let Some((text, most)) = said {
        sheet.add_line(SummaryLineKind::Reach, RiskDirection::AtMost(most), key, text);
    }
}

fn output(output: &PlanOutput, sheet: &mut SummaryBuilder) {
    let PlanOutput { name, schema, value } = output;
    let key = format!("outputs.{name}");
    sheet.add_line(SummaryLineKind::Data, RiskDirection::Plain, &key, json(schema.text()));
    let key = format!("{key}.value");
    sheet.add_line(SummaryLineKind::Data, RiskDirection::Plain, &key, value.source());
}
