//! The operations about runs, their output and their artifacts.

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header::LOCATION},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{
    extract::{ApiQuery, wants_text},
    problem::ApiError,
    table::PREFIX,
};
use crate::{caller::PageCaller, pages::files::saved_artifact, site::Site, visit::LoginSite};
use wf_app::{
    CommandError,
    api::{
        ApiLineQuery, ApiRunId, ApiRunQuery, ApiStepQuery, api_artifacts, api_lines, api_run, api_runs,
        api_steps, run_text, runs_text,
    },
    run_acts::{request_cancel, request_resume, request_retry},
    views::{find_run, state_reader},
};
use wf_base::name::RunId;

/// Returns a view of something that may not be there.
pub(super) fn found<T: Serialize>(
    site: &Site,
    view: Result<Option<T>, CommandError>,
    kind: &str,
    name: &str,
) -> Result<Response, ApiError> {
    match view {
        Ok(Some(view)) => Ok(Json(view).into_response()),
        Ok(None) => Err(ApiError::missing(kind, name)),
        Err(error) => Err(ApiError::of_view(site, &error)),
    }
}

pub(super) async fn list(
    State(site): State<Site>,
    ApiQuery(query): ApiQuery<ApiRunQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if wants_text(&headers) {
        let text = site.read(move |caller| runs_text(caller, &query)).await;
        return text.map(IntoResponse::into_response).map_err(|error| ApiError::of_view(&site, &error));
    }
    let page = site.read(move |caller| api_runs(caller, &query).map(Some)).await;
    found(&site, page, "list", "runs")
}

pub(super) async fn show(
    State(site): State<Site>,
    Path(run): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let name = run.clone();
    if wants_text(&headers) {
        return match site.read(move |caller| run_text(caller, &name)).await {
            Ok(Some(text)) => Ok(text.into_response()),
            Ok(None) => Err(ApiError::missing("run", &run)),
            Err(error) => Err(ApiError::of_view(&site, &error)),
        };
    }
    let view = site.read(move |caller| api_run(caller, &name)).await;
    found(&site, view, "run", &run)
}

pub(super) async fn steps(
    State(site): State<Site>,
    Path(run): Path<String>,
    ApiQuery(query): ApiQuery<ApiStepQuery>,
) -> Result<Response, ApiError> {
    let name = run.clone();
    let page = site.read(move |caller| api_steps(caller, &name, &query)).await;
    found(&site, page, "run", &run)
}

pub(super) async fn lines(
    State(site): State<Site>,
    Path((run, step)): Path<(String, String)>,
    ApiQuery(query): ApiQuery<ApiLineQuery>,
) -> Result<Response, ApiError> {
    let attempt = format!("{run}/{step}");
    let lines = site.read(move |caller| api_lines(caller, &run, &step, &query)).await;
    found(&site, lines, "attempt of", &attempt)
}

pub(super) async fn artifacts(
    State(site): State<Site>,
    Path(run): Path<String>,
) -> Result<Response, ApiError> {
    let name = run.clone();
    let list = site.read(move |caller| api_artifacts(caller, &name)).await;
    found(&site, list, "run", &run)
}

pub(super) async fn artifact(
    site: LoginSite,
    Path((run, digest, _name)): Path<(String, String, String)>,
) -> Result<Response, ApiError> {
    let name = format!("{run}/{digest}");
    match saved_artifact(&site, run, digest).await {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(ApiError::missing("artifact", &name)),
        Err(error) => Err(ApiError::of_view(&site, &error)),
    }
}

pub(super) async fn cancel(site: LoginSite, Path(run): Path<String>) -> Result<Response, ApiError> {
    act(&site, run, StatusCode::OK, |caller, run| request_cancel(caller, run).map(|()| run.clone())).await
}

pub(super) async fn resume(site: LoginSite, Path(run): Path<String>) -> Result<Response, ApiError> {
    act(&site, run, StatusCode::OK, |caller, run| request_resume(caller, run).map(|()| run.clone())).await
}

pub(super) async fn retry(site: LoginSite, Path(run): Path<String>) -> Result<Response, ApiError> {
    act(&site, run, StatusCode::CREATED, request_retry).await
}

/// Does something with a run, and names the run with the effect.
async fn act(
    site: &LoginSite,
    run: String,
    status: StatusCode,
    act: impl FnOnce(&dyn wf_app::Caller, &RunId) -> Result<RunId, CommandError> + Send + 'static,
) -> Result<Response, ApiError> {
    let name = run.clone();
    let done = site.execute(move |caller: &PageCaller| {
        let Some(reader) = state_reader(caller)? else {
            return Ok(None);
        };
        find_run(&reader, &name)?.map(|run| act(caller, &run)).transpose()
    });
    match done.await {
        Ok(Some(run)) => Ok(run_answer(site, status, run)),
        Ok(None) => Err(ApiError::missing("run", &run)),
        Err(error) => Err(ApiError::of_act(site, &error)),
    }
}

/// Names a run, and where it is.
pub(super) fn run_answer(site: &Site, status: StatusCode, run: RunId) -> Response {
    let place = [(LOCATION, site.page(&format!("{PREFIX}/runs/{run}")))];
    (status, place, Json(ApiRunId { run })).into_response()
}
