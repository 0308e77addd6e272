use axum::{
    Json,
    extract::{Path, State},
    http::{StatusCode, Uri},
    response::{IntoResponse, Redirect, Response},
};
use serde::{Deserialize, Serialize};

use crate::{
    respond,
    site::Site,
    visit::{LoginSite, Visit},
};
use wf_app::{
    approve::{RemoteAnswer, RequestName, draft_answer},
    resumption::answer_and_resume,
    views::{
        DecidedRequest, RequestView, SuggestionCard, decided_request, find_run, open_requests, state_reader,
        suggestion_cards,
    },
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

/// A request, among all that wait.
#[derive(Default, Serialize)]
struct InboxPage {
    /// The one that is shown as a card.
    request: Option<RequestView>,
    /// The one that was asked for, if it does not wait any more.
    decided: Option<DecidedRequest>,
    waiting: Vec<RequestView>,
    suggestions: Vec<SuggestionCard>,
    may_operate: bool,
}

/// The next request to answer, among all that wait, and the suggestions.
pub(crate) async fn requests(visit: Visit) -> Response {
    let may_operate = visit.may_operate();
    visit
        .show("request.html", move |caller| {
            let Some(reader) = state_reader(caller)? else {
                return Ok(Some(InboxPage::default()));
            };
            let waiting = open_requests(&reader)?;
            let suggestions = suggestion_cards(caller, &reader)?;
            let request = waiting.first().cloned();
            Ok(Some(InboxPage { request, decided: None, waiting, suggestions, may_operate }))
        })
        .await
}

pub(crate) async fn request(visit: Visit, Path(name): Path<RequestAddress>) -> Response {
    visit
        .show("request.html", move |caller| {
            let Some(reader) = state_reader(caller)? else {
                return Ok(None);
            };
            let Some(run) = find_run(&reader, &name.run)? else {
                return Ok(None);
            };
            let waiting = open_requests(&reader)?;
            let is_named = |request: &&RequestView| request.run == run && request.number == name.number;
            let request = waiting.iter().find(is_named).cloned();
            if request.is_some() {
                return Ok(Some(InboxPage { request, waiting, ..InboxPage::default() }));
            }
            let decided = decided_request(&reader, &run, name.number)?;
            Ok(decided.map(|decided| InboxPage { decided: Some(decided), waiting, ..InboxPage::default() }))
        })
        .await
}

/// Drafts an answer: the text a browser signs.
pub(crate) async fn draft(site: LoginSite, Path(name): Path<RequestAddress>, body: String) -> Response {
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
pub(crate) async fn answer(site: LoginSite, Path(name): Path<RequestAddress>, body: String) -> Response {
    let recorded = site.change(move |caller| answer_and_resume(caller, &name.into(), &body)).await;
    match recorded {
        Ok(record) => Json(record).into_response(),
        Err(error) => respond::uncounted(&site, &error),
    }
}

/// Leads from an address of earlier versions to the page that has its place.
pub(crate) async fn moved(State(site): State<Site>, uri: Uri) -> Response {
    let page = uri.path().strip_prefix("/review").unwrap_or_default();
    Redirect::permanent(&site.page(&format!("/inbox{page}"))).into_response()
}
