use wf_core::machine::{ApprovalRequest, GatePoint};
use wf_model::{Plan, StepIx};

/// The most steps a sentence names.
const MAX_NAMES: usize = 3;

/// Returns what a yes leads to.
pub(super) fn of_yes(request: &ApprovalRequest, plan: Option<&Plan>) -> String {
    let step = place(request);
    if let Some(call) = &request.tool_call {
        let answered = "the agent goes on with your answer";
        return if call.is_question {
            answered.into()
        } else {
            format!("the agent calls the tool `{}`", call.tool)
        };
    }
    if let Some(exchange) = &request.exchange {
        return of_exchange(exchange.passed.point).into();
    }
    if let Some(merge) = &request.merge {
        let (yours, agents) =
            ("the files as you merged them count", "the agent's changes are merged into the workspace");
        return if merge.by_hand { yours.into() } else { agents.into() };
    }
    if request.stuck.is_some() {
        return format!("`{step}` is tried again with your words");
    }
    if let Some(phase) = request.phase {
        return format!("`{step}` goes on although its checks failed in phase {}", phase.as_str());
    }
    match request.point {
        Some(GatePoint::Start) => "the run begins".into(),
        Some(GatePoint::Publish) => "the run gives its outputs".into(),
        Some(GatePoint::Leave) => format!("the result of `{step}` goes on to its checks"),
        Some(_) => format!("`{step}` runs"),
        None => of_followers(request, plan),
    }
}

/// Returns what a no leads to.
pub(super) fn of_no(request: &ApprovalRequest) -> String {
    let step = place(request);
    if let Some(call) = &request.tool_call {
        let refused = || format!("the agent is told that it may not call `{}`, and goes on", call.tool);
        return if call.is_question { "the agent goes on without an answer".into() } else { refused() };
    }
    match (request.point, &request.task_id) {
        _ if request.exchange.is_some() => "the agent is told, or ends if it cannot go on".into(),
        _ if request.merge.is_some() => format!("the changes stay in the agent's copy, and `{step}` fails"),
        (Some(_), None) => "the run ends as blocked".into(),
        (Some(_), Some(_)) => format!("`{step}` is blocked"),
        _ => format!("`{step}` fails, and steps that need its success do not run"),
    }
}

/// Returns the step waiting for an answer.
pub(super) fn waiting_step(request: &ApprovalRequest, plan: &Plan) -> Option<StepIx> {
    request.task_id.as_ref().and_then(|place| plan.find(place.step.as_str()))
}

fn of_followers(request: &ApprovalRequest, plan: Option<&Plan>) -> String {
    let Some(plan) = plan else {
        return "the run goes on".into();
    };
    let later = waiting_step(request, plan).map(|ix| plan.downstream(ix)).unwrap_or_default();
    let named = later.iter().take(MAX_NAMES).map(|ix| format!("`{}`", plan.step(*ix).id));
    let named: Vec<String> = named.collect();
    let named = named.join(", ");
    match (later.len(), later.len().saturating_sub(MAX_NAMES)) {
        (0, _) => "it is recorded; no step depends on it".into(),
        (_, 0) => format!("{named} may run"),
        (_, more) => format!("{named} and {more} more may run"),
    }
}

fn of_exchange(point: GatePoint) -> &'static str {
    match point {
        GatePoint::Request => "the model is asked",
        GatePoint::Reply => "the agent acts on the reply",
        _ => "the model gets the result of the tool",
    }
}

fn place(request: &ApprovalRequest) -> String {
    request.task_id.as_ref().map_or_else(|| "run".to_owned(), ToString::to_string)
}
