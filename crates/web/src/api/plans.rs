//! The operations about plans and goals, and the start of a run.

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
};

use super::{
    extract::{ApiBody, idempotency_key},
    problem::ApiError,
    runs::{found, run_answer},
};
use crate::{caller::PageCaller, site::Site, visit::LoginSite};
use wf_app::{
    Caller as _, CommandError,
    api::{ApiStart, api_goals, api_plan, api_plans, api_start_draft, start_plan},
    plan_start::{PlanStartError, StartKey},
};

pub(super) async fn list(State(site): State<Site>) -> Result<Response, ApiError> {
    let plans = site.read(|caller| api_plans(caller).map(Some)).await;
    found(&site, plans, "list", "plans")
}

pub(super) async fn show(State(site): State<Site>, Path(plan): Path<String>) -> Result<Response, ApiError> {
    let name = plan.clone();
    let view = site.read(move |caller| api_plan(caller, &name)).await;
    found(&site, view, "plan", &plan)
}

pub(super) async fn goals(State(site): State<Site>) -> Result<Response, ApiError> {
    let goals = site.read(|caller| api_goals(caller).map(Some)).await;
    found(&site, goals, "list", "goals")
}

pub(super) async fn start(
    site: LoginSite,
    Path(plan): Path<String>,
    headers: HeaderMap,
    ApiBody(start): ApiBody<ApiStart>,
) -> Result<Response, ApiError> {
    let (name, chosen) = (plan.clone(), idempotency_key(&headers)?);
    let started = site.execute(move |caller| {
        let key = key_or_new(caller, chosen)?;
        Ok(start_plan(caller, &name, &key, &start))
    });
    match started.await {
        Ok(Ok(Some(run))) => Ok(run_answer(&site, StatusCode::CREATED, run)),
        Ok(Ok(None)) => Err(ApiError::missing("plan", &plan)),
        Ok(Err(error)) => Err(unstarted(&site, &error)),
        Err(error) => Err(ApiError::of_act(&site, &error)),
    }
}

pub(super) async fn draft(
    site: LoginSite,
    Path(plan): Path<String>,
    headers: HeaderMap,
    ApiBody(start): ApiBody<ApiStart>,
) -> Result<Response, ApiError> {
    let (name, chosen) = (plan.clone(), idempotency_key(&headers)?);
    let drafted = site.change(move |caller| {
        let key = key_or_new(caller, chosen)?;
        Ok(api_start_draft(caller, &name, &key, &start))
    });
    match drafted.await {
        Ok(Ok(Some(draft))) => Ok(Json(draft).into_response()),
        Ok(Ok(None)) => Err(ApiError::missing("plan", &plan)),
        Ok(Err(error)) => Err(unstarted(&site, &error)),
        Err(error) => Err(ApiError::of_act(&site, &error)),
    }
}

/// Returns the key of a request, or a new one: then each request starts a run.
fn key_or_new(caller: &PageCaller, chosen: Option<String>) -> Result<String, CommandError> {
    match chosen {
        Some(key) => Ok(key),
        None => Ok(StartKey::make(caller.host(), "start of a program")?.as_str().to_owned()),
    }
}

/// Says why nothing was started.
fn unstarted(site: &Site, error: &PlanStartError) -> ApiError {
    match error {
        PlanStartError::Params(errors) => {
            let refusal =
                ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, errors.to_string()).code("invalid_params");
            let first = errors.missing.first().or_else(|| errors.mistakes.keys().next());
            match first {
                Some(name) => refusal.place(format!("/params/{name}")),
                None => refusal.place("/params"),
            }
        }
        PlanStartError::Outdated(error) => ApiError::of_act(site, error).code("outdated"),
        PlanStartError::Refused(error) => ApiError::of_act(site, error),
    }
}
