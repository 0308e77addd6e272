use crate::{
    query::PageQuery,
    respond,
    visit::{LoginSite, Visit},
};
use axum::{
    Json,
    extract::{Form, Path},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use wf_app::{
    approve::{GoalSignature, draft_goal_signature, submit_goal_signature},
    goals::{pause_goal, request_reconciliation, resume_goal, tighten_goal},
    suggestions::{dismiss_suggestion, request_suggestion},
    views::{CalendarQuery, GoalView, goal_view, goals_view, is_week, week_view},
};

/// The longest reason of a pause, in bytes.
const MAX_REASON_SIZE: usize = 1_000;

/// A goal, for a browser with some access.
#[derive(Serialize)]
struct OperatedGoal {
    #[serde(flatten)]
    shown: GoalView,
    may_operate: bool,
}

/// The reason of a pause.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PauseForm {
    reason: String,
}

/// The goals of a workspace.
pub(crate) async fn goals(visit: Visit) -> Response {
    visit.show("goals.html", |caller| goals_view(caller).map(Some)).await
}

/// The week of a schedule, as the address has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WeekQuery {
    /// A date in it; empty: the present one.
    week: String,
}

/// A week of all goals.
pub(crate) async fn schedule(visit: Visit, PageQuery(query): PageQuery<WeekQuery>) -> Response {
    if !is_week(&query.week) {
        let remedy = "The address of a week has a date in it, as in /schedule?week=2026-11-30.";
        return visit.site.templates.refusal(StatusCode::NOT_FOUND, "There is no such week", remedy);
    }
    visit.show("schedule.html", move |caller| week_view(caller, &query.week).map(Some)).await
}

/// A goal, with its slots.
pub(crate) async fn goal(
    visit: Visit,
    Path(goal): Path<String>,
    PageQuery(query): PageQuery<CalendarQuery>,
) -> Response {
    if !query.is_valid() {
        let remedy =
            "The address of a goal has a month, as in ?month=2026-11, or an hour, as in ?hour=2026-11-30T08.";
        return visit.site.templates.refusal(StatusCode::NOT_FOUND, "There is no such month or hour", remedy);
    }
    let may_operate = visit.may_operate();
    visit
        .show("goal.html", move |caller| {
            let shown = goal_view(caller, &goal, &query)?;
            Ok(shown.map(|shown| OperatedGoal { shown, may_operate }))
        })
        .await
}

/// Pauses a goal.
pub(crate) async fn pause(
    site: LoginSite,
    Path(goal): Path<String>,
    Form(form): Form<PauseForm>,
) -> Response {
    let reason = form.reason.trim().to_owned();
    if reason.len() > MAX_REASON_SIZE {
        let message = format!("Nothing was changed. A reason has at most {MAX_REASON_SIZE} bytes.");
        return site.templates.refusal(StatusCode::BAD_REQUEST, "The reason is too long", &message);
    }
    let reason = if reason.is_empty() { "paused in a browser".to_owned() } else { reason };
    let name = goal.clone();
    let done = site.change(move |caller| pause_goal(caller, &name, &reason)).await;
    respond::done(&site, done.map(|_| format!("/goals/{goal}")))
}

/// Ends the pause of a goal.
pub(crate) async fn resume(site: LoginSite, Path(goal): Path<String>) -> Response {
    let name = goal.clone();
    let done = site.change(move |caller| resume_goal(caller, &name)).await;
    respond::done(&site, done.map(|_| format!("/goals/{goal}")))
}

/// Makes a reconciliation of a goal due now.
pub(crate) async fn run_now(site: LoginSite, Path(goal): Path<String>) -> Response {
    let name = goal.clone();
    let done = site.change(move |caller| request_reconciliation(caller, &name)).await;
    respond::done(&site, done.map(|_| format!("/goals/{goal}")))
}

/// Withdraws the standing approval of a goal.
pub(crate) async fn tighten(site: LoginSite, Path(goal): Path<String>) -> Response {
    let name = goal.clone();
    let done = site.change(move |caller| tighten_goal(caller, &name).map(drop)).await;
    respond::done(&site, done.map(|()| format!("/goals/{goal}")))
}

/// The subject of a signature.
#[derive(Deserialize)]
struct SignatureRequest {
    what: GoalSignature,
}

/// Drafts what a browser signs for a goal.
pub(crate) async fn draft(site: LoginSite, Path(goal): Path<String>, body: String) -> Response {
    let Ok(SignatureRequest { what }) = serde_json::from_str(&body) else {
        return respond::plain(StatusCode::BAD_REQUEST, "this is nothing to sign for a goal\n");
    };
    match site.change(move |caller| draft_goal_signature(caller, &goal, what)).await {
        Ok(draft) => Json(draft).into_response(),
        Err(error) => respond::uncounted(&site, &error),
    }
}

/// Records a signed statement about a goal.
pub(crate) async fn sign(site: LoginSite, Path(goal): Path<String>, body: String) -> Response {
    match site.change(move |caller| submit_goal_signature(caller, &goal, &body)).await {
        Ok(()) => respond::plain(StatusCode::OK, "recorded\n"),
        Err(error) => respond::uncounted(&site, &error),
    }
}

/// Starts the plan of a suggestion, and leads to the run.
pub(crate) async fn post_acceptance(site: LoginSite, Path(number): Path<u32>) -> Response {
    let begun = site.execute(move |caller| request_suggestion(caller, number)).await;
    respond::done(&site, begun.map(|run| format!("/runs/{run}")))
}

/// Dismisses a suggestion.
pub(crate) async fn post_dismissal(site: LoginSite, Path(number): Path<u32>) -> Response {
    let done = site.change(move |caller| dismiss_suggestion(caller, number)).await;
    respond::done(&site, done.map(|_| "/inbox".to_owned()))
}
