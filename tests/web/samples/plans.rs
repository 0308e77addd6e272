//! The samples of the pages of plans.

use serde_json::json;

use super::{
    at,
    compare::{fits, fits_without},
    text,
};
use wf_app::views::{
    FieldKind, FieldOption, ParamField, PlanForm, PlanListing, PlanProblem, PlanSource, PlanTrend, PlanUse,
    PlanView, RunOutlook, StepTrend, TrendRun, WeekTotal,
};
use wf_base::name::RunId;

#[test]
fn the_samples_of_plans_are_like_the_types_of_views() {
    let listing = PlanListing {
        address: text(),
        path: text(),
        id: None,
        title: None,
        problem: None,
        last_run: None,
        bars: None,
        success_percent: None,
        ended_runs: 0,
        median_ms: None,
    };
    fits("plans", "/plans", &[&listing]);
    let view = PlanView {
        plan: listing,
        prose: text(),
        runs: vec![],
        trend: Some(plan_trend()),
        graph: None,
        step_count: 1,
        users: vec![PlanUse { kind: "dag", title: text(), page: None }],
        problems: vec![plan_problem()],
        more_problems: 0,
    };
    fits_without("plan", &["may_start"], &view);
    let source =
        PlanSource { address: text(), title: text(), path: text(), lines: vec![text()], more_lines: 0 };
    fits("plan_source", "", &source);
    fits_without("plan_start", &["may_start"], &plan_form());
}

fn plan_trend() -> PlanTrend {
    let step = StepTrend { step: text(), runs: 1, median_ms: 1, critical_percent: None, repeated: 1 };
    let run = TrendRun {
        id: RunId::from_bytes([1; 16]),
        created: at(),
        life: "failed",
        duration_ms: Some(1),
        cost_micro_usd: None,
    };
    PlanTrend {
        runs: vec![run],
        weeks: vec![WeekTotal { week: text(), succeeded: 1, ended: 1, cost_micro_usd: None }],
        slowest: vec![step.clone()],
        flakiest: vec![step],
        ..PlanTrend::default()
    }
}

fn plan_problem() -> PlanProblem {
    PlanProblem {
        path: text(),
        line: 1,
        is_error: true,
        code: "plan/unknown-step",
        message: text(),
        help: None,
        is_own: true,
    }
}

fn plan_form() -> PlanForm {
    let field = ParamField {
        name: text(),
        kind: FieldKind::Text,
        description: None,
        is_required: true,
        text: text(),
        options: vec![FieldOption { text: text(), is_chosen: false }],
        min: None,
        max: None,
        step: None,
        pattern: None,
        max_length: None,
        mistake: None,
    };
    let outlook = RunOutlook {
        steps: 1,
        nested_steps: 0,
        risk: serde_json::from_value(json!({"level": "low", "rule": "reads_only"})).unwrap(),
        risk_reason: text(),
        network: vec![],
        unconfined: vec![],
        writes: vec![],
        budget: None,
        approvals: vec![],
        secrets: vec![],
    };
    PlanForm {
        address: text(),
        title: text(),
        path: text(),
        problem: None,
        problems: vec![plan_problem()],
        fields: vec![field],
        from: None,
        from_problem: None,
        dropped_params: vec![],
        last_run: None,
        plan_digest: text(),
        key: text(),
        outlook: Some(outlook),
        steps: vec![],
        signature_reason: None,
        refusal: None,
        command: text(),
    }
}
