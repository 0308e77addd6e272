//! The operations about requests for people. An answer counts by its signature, whichever key of a program sends it.

use axum::{
    Json,
    extract::{Path, State},
    http::HeaderMap,
    response::{IntoResponse as _, Response},
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    extract::{ApiBody, wants_text},
    problem::ApiError,
    runs::found,
};
use crate::{caller::PageCaller, site::Site, visit::LoginSite};
use wf_app::{
    CommandError,
    api::{api_request, api_requests, canonical_token},
    approve::{RemoteAnswer, RequestName, draft_answer},
    resumption::answer_and_resume,
    views::{find_run, state_reader},
};

/// The part of an address that names a request.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ApiRequestAddress {
    run: String,
    number: u32,
}

/// A signed answer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SignedAnswer {
    /// The envelope with the statement and its signature (DSSE), as text.
    token: String,
}

impl ApiRequestAddress {
    /// Returns the name of the request; `None`: there is no such run.
    fn find(&self, caller: &PageCaller) -> Result<Option<RequestName>, CommandError> {
        let run = match state_reader(caller)? {
            Some(reader) => find_run(&reader, &self.run)?,
            None => None,
        };
        Ok(run.map(|run| RequestName { run, number: self.number }))
    }

    fn missing(&self) -> ApiError {
        ApiError::missing("request", &format!("{}/{}", self.run, self.number))
    }
}

pub(super) async fn list(State(site): State<Site>) -> Result<Response, ApiError> {
    let requests = site.read(|caller| api_requests(caller).map(Some)).await;
    found(&site, requests, "list", "requests")
}

pub(super) async fn show(
    State(site): State<Site>,
    Path(address): Path<ApiRequestAddress>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let named = address.clone();
    let view = site.read(move |caller| api_request(caller, &named.run, named.number)).await;
    match view {
        Ok(Some(request)) if wants_text(&headers) => {
            Ok(request.text.unwrap_or(request.message).into_response())
        }
        Ok(Some(request)) => Ok(Json(request).into_response()),
        Ok(None) => Err(address.missing()),
        Err(error) => Err(ApiError::of_view(&site, &error)),
    }
}

pub(super) async fn draft(
    site: LoginSite,
    Path(address): Path<ApiRequestAddress>,
    ApiBody(answer): ApiBody<RemoteAnswer>,
) -> Result<Response, ApiError> {
    let named = address.clone();
    let drafted = site.change(move |caller| {
        let name = named.find(caller)?;
        name.map(|name| draft_answer(caller, &name, &answer)).transpose()
    });
    match drafted.await {
        Ok(Some(draft)) => Ok(Json(draft).into_response()),
        Ok(None) => Err(address.missing()),
        Err(error) => Err(ApiError::of_act(&site, &error)),
    }
}

pub(super) async fn answer(
    site: LoginSite,
    Path(address): Path<ApiRequestAddress>,
    ApiBody(SignedAnswer { token }): ApiBody<SignedAnswer>,
) -> Result<Response, ApiError> {
    let named = address.clone();
    let recorded = site.change(move |caller| {
        let name = named.find(caller)?;
        name.map(|name| answer_and_resume(caller, &name, &canonical_token(&token))).transpose()
    });
    match recorded.await {
        Ok(Some(record)) => Ok(Json(record).into_response()),
        Ok(None) => Err(address.missing()),
        Err(error) => Err(ApiError::of_act(&site, &error)),
    }
}
