use axum::{
    Json,
    extract::{Extension, Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};

use crate::{logins::LoginAccess, respond, site::Site};
use wf_app::{
    approve::{RemoteAnswer, RequestName, draft_answer},
    resumption::answer_and_resume,
    views::{RequestView, SuggestionRecord, open_requests, open_suggestions, state_reader},
};
use wf_base::name::RunId;

/// The part of an address naming a request.
#[derive(Deserialize)]
pub(crate) struct RequestAddress {
    run: String,
    number: u32,
}

impl From<RequestAddress> for RequestName {
    fn from(address: RequestAddress) -> Self {
        Self { run: RunId::from_stored(address.run), number: address.number }
    }
}

/// A request, and those after it.
#[derive(Default, Serialize)]
struct ReviewView {
    request: Option<RequestView>,
    next: Vec<RequestView>,
    suggestions: Vec<SuggestionRecord>,
    may_operate: bool,
}

/// The next request to answer, those after it, and the suggestions.
pub(crate) async fn requests(
    State(site): State<Site>,
    Extension(access): Extension<LoginAccess>,
) -> Response {
    let may_operate = access >= LoginAccess::Operate;
    respond::view(&site, "request.html", move |caller| {
        let Some(reader) = state_reader(caller)? else {
            return Ok(Some(ReviewView::default()));
        };
        let mut open = open_requests(&reader)?.into_iter();
        let suggestions = open_suggestions(&reader)?;
        Ok(Some(ReviewView { request: open.next(), next: open.collect(), suggestions, may_operate }))
    })
    .await
}

pub(crate) async fn request(State(site): State<Site>, Path(name): Path<RequestAddress>) -> Response {
    respond::view(&site, "request.html", move |caller| {
        let Some(reader) = state_reader(caller)? else {
            return Ok(None);
        };
        let mut open = open_requests(&reader)?;
        let is_named =
            |request: &RequestView| request.run.as_str() == name.run && request.number == name.number;
        let Some(at) = open.iter().position(is_named) else {
            return Ok(None);
        };
        let request = open.remove(at);
        Ok(Some(ReviewView { request: Some(request), next: open, ..ReviewView::default() }))
    })
    .await
}

/// Drafts an answer: the text a browser signs.
pub(crate) async fn draft(
    State(site): State<Site>,
    Path(name): Path<RequestAddress>,
    body: String,
) -> Response {
    let Ok(answer) = serde_json::from_str::<RemoteAnswer>(&body) else {
        return respond::plain(StatusCode::BAD_REQUEST, "this is no answer\n");
    };
    let drafted = site.change(move |caller| draft_answer(caller, &name.into(), &answer)).await;
    match drafted {
        Ok(draft) => Json(draft).into_response(),
        Err(error) => respond::uncounted(&site, &error),
    }
}

/// Records a signed answer.
pub(crate) async fn answer(
    State(site): State<Site>,
    Path(name): Path<RequestAddress>,
    body: String,
) -> Response {
    let recorded = site.change(move |caller| answer_and_resume(caller, &name.into(), &body)).await;
    match recorded {
        Ok(record) => Json(record).into_response(),
        Err(error) => respond::uncounted(&site, &error),
    }
}
