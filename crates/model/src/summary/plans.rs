use std::{collections::VecDeque, sync::Arc};

use super::{RecordView, SummaryBuilder, SummaryLine, shell_words, show_alternative};
use crate::{
    agents::interaction::{InteractionMode, WorkItemType},
    checks::{gate, gate::Gate},
    goal::Goal,
    plans::{
        agent::ChildPlan,
        plan::{Plan, PlanOutput, ResumeMode},
        step,
        step::Step,
        work::NestedPlan,
    },
    programs::script::{SecretDeclaration, SecretSource},
    taint::{MixedTaint, StepTaint, TaintAnalysis},
};

/// The plans that are shown already, or will be.
#[derive(Default)]
pub(crate) struct ShownPlans {
    shown: Vec<(Arc<Plan>, String)>,
    queue: VecDeque<(Arc<Plan>, String)>,
    root: String,
    gates: Vec<Arc<Gate>>,
    taints: TaintAnalysis,
}

impl ShownPlans {
    /// True if a gate is not shown yet; it will be.
    fn is_new(&mut self, gate: &Arc<Gate>) -> bool {
        let same = |shown_gate: &Arc<Gate>| {
            let one_file = shown_gate.path.is_some() && shown_gate.path == gate.path;
            one_file || Arc::ptr_eq(shown_gate, gate)
        };
        let is_new = !self.gates.iter().any(same);
        if is_new {
            self.gates.push(Arc::clone(gate));
        }
        is_new
    }

    /// The name under which a plan a step uses is shown.
    fn name(&mut self, plan: &Arc<Plan>, path: &str) -> String {
        let shown_before = self.shown.iter().find(|(shown_plan, _)| Arc::ptr_eq(shown_plan, plan));
        if let Some((_, name)) = shown_before {
            return name.clone();
        }
        let named = |shown_pair: &&(Arc<Plan>, String)| shown_pair.1.split(" (").next() == Some(path);
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

/// Returns the lines of a plan and of every plan it uses, each once. `path` is its file.
pub fn of_plan(plan: &Plan, path: &str) -> Vec<SummaryLine> {
    let mut summary = SummaryBuilder::default();
    path.clone_into(&mut summary.shown_plans.root);
    show_plan(plan, &mut summary);
    while let Some((plan, name)) = summary.shown_plans.queue.pop_front() {
        summary.set_plan(&name);
        show_plan(&plan, &mut summary);
    }
    summary.lines()
}

/// Returns the lines of the schedule on which a goal starts its plan, and of the consequences.
pub fn of_goal(goal: &Goal) -> Vec<SummaryLine> {
    let mut summary = SummaryBuilder::of_part("goal");
    goal.view(&mut summary);
    summary.lines()
}

fn show_plan(plan: &Plan, summary: &mut SummaryBuilder) {
    let parts = plan.parts();
    lines!(summary in About {
        plain "id" = &parts.id,
        plain "type" = parts.work_type.map(WorkItemType::as_str),
        plain "interaction_mode" in Effort = parts.interaction_mode.map(InteractionMode::as_str),
        plain "resume" in Effort = Some(parts.resume).filter(|mode| *mode != ResumeMode::default()).map(ResumeMode::as_str),
    });
    show_about(parts.title.as_deref(), Some(&parts.briefing), summary);
    let order: Vec<&str> = plan.order().into_iter().map(|ix| plan.step(ix).id.as_str()).collect();
    lines!(summary in Graph { plain "intent" in Effort = &parts.intent, plain "order" = order.join(", ") });
    parts.view(summary);
    show_steps(plan, summary);
    show_new_gates(plan, summary);
}

/// Text for readers: it is shown, and decides nothing.
pub(crate) fn show_about(title: Option<&str>, prose: Option<&str>, summary: &mut SummaryBuilder) {
    let prose = prose.filter(|prose| !prose.trim().is_empty());
    lines!(summary in About { plain "title" = title, plain "prose" = prose });
}

/// The use of another plan.
pub(crate) fn show_use(nested: &NestedPlan, summary: &mut SummaryBuilder) {
    let NestedPlan { plan, path, with } = nested;
    let name = summary.shown_plans.name(plan, path);
    lines!(summary in Work { plain "uses" = name, plain "with" in Data = with });
}

/// The plans that may be started.
pub(crate) fn show_child_plans(plans: &[ChildPlan], summary: &mut SummaryBuilder) {
    let names: Vec<String> =
        plans.iter().map(|child| summary.shown_plans.name(&child.plan, &child.path)).collect();
    lines!(summary in Reach { grant "plans" = &names });
}

/// The steps of a plan, and their alternatives.
fn show_steps(plan: &Plan, summary: &mut SummaryBuilder) {
    let trust = summary.shown_plans.taints.summary_of(plan);
    for (at, own) in plan.steps().iter().enumerate() {
        let part = if at < plan.parts().main { "steps" } else { "finally" };
        summary.set_part(&format!("{part}.{}", own.id));
        step::show_step(own, plan, summary);
        if let Some(value) = trust.steps.get(own.id.as_str()) {
            show_taint(own, value, summary);
        }
        for other in &own.alternatives {
            summary.set_part(&format!("{part}.{}.alternatives.{}", own.id, other.id));
            show_alternative(other, summary);
        }
    }
}

/// The gates of a plan and of its steps that were not shown before.
fn show_new_gates(plan: &Plan, summary: &mut SummaryBuilder) {
    let of_steps = plan.steps().iter().flat_map(|step| &step.gates);
    for own in plan.parts().gates.iter().chain(of_steps) {
        if summary.shown_plans.is_new(own) {
            summary.set_part(&format!("gates.{}", own.id));
            gate::show_gate(own, summary);
        }
    }
}

/// The trust in what a step outputs, where it is less than full.
fn show_taint(step: &Step, taint: &StepTaint, summary: &mut SummaryBuilder) {
    let outputs = step.outputs.iter().map(|output| taint.output(output.name.as_str()));
    let files = (!step.artifacts.is_empty()).then_some(&taint.outputs_taint);
    let mixed_taint = MixedTaint::mix_all(outputs.chain(files).chain(taint.outputs.values()));
    let text =
        mixed_taint.from.map(|from| format!("{}: its outputs come from {from}", mixed_taint.taint.as_str()));
    lines!(summary in Data { plain "taint" = text });
}

pub(crate) fn show_secrets(secrets: &[SecretDeclaration], summary: &mut SummaryBuilder) {
    for SecretDeclaration { name, source, masked } in secrets {
        let key = format!("secrets.{name}");
        let from = match source {
            SecretSource::Env(variable) => format!("from the environment variable {variable}"),
            SecretSource::File(path) => format!("from the file {path}"),
            SecretSource::Command(words) => {
                format!("from the output of this program: {}", shell_words(words))
            }
            SecretSource::Keyring { service, account } => format!("from the keyring: {account} at {service}"),
            SecretSource::Connection { name, secret } => format!("from the connection {name}: {secret}"),
        };
        let mask = if *masked {
            ("yes: it is masked in output and records", 0.0)
        } else {
            ("no: it can appear in logs and records", 1.0)
        };
        lines!(summary in Reach { grant (&key) = from });
        summary.below(&key, |summary| lines!(summary in Reach { most "mask" = mask; *masked }));
    }
}

pub(crate) fn show_plan_outputs(outputs: &[PlanOutput], summary: &mut SummaryBuilder) {
    for PlanOutput { name, schema, value } in outputs {
        let key = format!("outputs.{name}");
        lines!(summary in Data { plain (&key) = schema });
        summary.below(&key, |summary| lines!(summary in Data { plain "value" = value }));
    }
}
