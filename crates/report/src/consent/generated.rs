use super::budget;
use super::plan::ShownPlans;
use super::{RiskDirection, SummaryBuilder, SummaryLineKind};
use wf_model::expr::Template;
use wf_model::{GeneratedPlan, PlanEnvelope, SandboxPermissions};

/// The text of a plan that the run makes, and everything that it may be.
pub(super) fn generated(made: &GeneratedPlan, used: &mut ShownPlans, sheet: &mut SummaryBuilder) {
    let GeneratedPlan {
        text,
        path: _, // It follows from the path of the plan and the id of the step.
        with,
        envelope,
    } = made;
    let text =
        text.as_ref().map_or("what the planner may write; until then it does nothing", Template::source);
    sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, "uses.text", text);
    for (param, value) in with {
        let key = format!("with.{param}");
        sheet.add_line(SummaryLineKind::Data, RiskDirection::Plain, &key, value.source());
    }
    within(envelope, used, sheet);
}

fn within(envelope: &PlanEnvelope, used: &mut ShownPlans, sheet: &mut SummaryBuilder) {
    let PlanEnvelope { allow, executors, plans, roles, tools, mcp, fetch, max_steps, budget, untrusted } =
        envelope;
    let text = format!(
        "it runs a plan that nobody has reviewed, of at most {max_steps} steps, each in a sandbox; what is not listed \
         here, the plan may not have"
    );
    let most = RiskDirection::AtMost(f64::from(*max_steps));
    sheet.add_line(SummaryLineKind::Reach, most, "uses.within.max_steps", text);
    let words = |all: &mut dyn Iterator<Item = String>| all.collect::<Vec<_>>();
    let lists = [
        ("executors", words(&mut executors.iter().map(ToString::to_string))),
        ("plans", words(&mut plans.iter().map(|child| used.name(&child.plan, &child.path)))),
        ("roles", words(&mut roles.iter().map(ToString::to_string))),
        ("tools", words(&mut tools.iter().map(ToString::to_string))),
        ("mcp", words(&mut mcp.iter().map(ToString::to_string))),
        ("fetch", words(&mut fetch.iter().map(ToString::to_string))),
    ];
    for (key, texts) in lists {
        let key = format!("uses.within.{key}");
        sheet.add_each(SummaryLineKind::Reach, RiskDirection::Grant, &key, &texts);
    }
    permissions(allow, sheet);
    budget::budget(budget.as_ref(), "uses.within.budget", sheet);
    let (level, text) = if *untrusted { (1.0, "true: its text may be from outside") } else { (0.0, "false") };
    sheet.add_line(SummaryLineKind::Reach, RiskDirection::AtMost(level), "uses.within.untrusted", text);
    sheet.mark_default(!untrusted);
}

/// The permissions that its steps may have.
fn permissions(allow: &SandboxPermissions, sheet: &mut SummaryBuilder) {
    let SandboxPermissions { read, write, net, env, exec } = allow;
    for (key, list) in [("read", read), ("write", write), ("env", env)] {
        let key = format!("uses.within.allow.{key}");
        sheet.add_each(SummaryLineKind::Reach, RiskDirection::Grant, &key, list);
    }
    let mut reach = |level, key: &str, text: &str| {
        let key = format!("uses.within.allow.{key}");
        sheet.add_line(SummaryLineKind::Reach, RiskDirection::AtMost(level), &key, text);
    };
    if *net {
        reach(1.0, "net", "true: any host");
    } else {
        reach(0.0, "net", "false");
    }
    match exec {
        None => reach(1.0, "exec", "every program that it can read"),
        Some(_) => reach(0.0, "exec", "only the listed programs"),
    }
    let programs = exec.as_deref().unwrap_or_default();
    sheet.add_each(SummaryLineKind::Reach, RiskDirection::Grant, "uses.within.allow.exec", programs);
}
