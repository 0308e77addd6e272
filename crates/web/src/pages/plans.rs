//! The pages of plans, and the form that starts one.

use std::collections::BTreeMap;

use crate::{
    query::PageQuery,
    respond::{self, RefusalReason},
    visit::{LoginSite, Visit},
};
use axum::{
    Json,
    extract::{Form, Path},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use wf_app::{
    plan_start::{PlanStartError, draft_plan_start, request_start},
    views::{
        PlanForm, PlanListing, PlanView, SentForm, plan_form, plan_listings, plan_source, plan_view,
        refilled_form, sent_request,
    },
};

/// The beginning of the name of each field for a parameter: no parameter has the name of another field.
const PARAM_FIELD: &str = "p.";

#[derive(Serialize)]
struct PlansView {
    plans: Vec<PlanListing>,
}

/// A plan, for a browser with some access.
#[derive(Serialize)]
struct StartablePlan {
    #[serde(flatten)]
    shown: PlanView,
    may_start: bool,
}

/// The form of a plan, for a browser with some access.
#[derive(Serialize)]
struct StartForm {
    #[serde(flatten)]
    shown: PlanForm,
    may_start: bool,
}

/// The run whose parameters a form has, as the address has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FormQuery {
    /// The beginning of its id; empty: the defaults.
    from: String,
}

/// The plans of a workspace.
pub(crate) async fn plans(visit: Visit) -> Response {
    visit.show("plans.html", |caller| Ok(Some(PlansView { plans: plan_listings(caller)? }))).await
}

/// A plan, with its runs.
pub(crate) async fn plan(visit: Visit, Path(plan): Path<String>) -> Response {
    let may_start = visit.may_start();
    visit
        .show("plan.html", move |caller| {
            let shown = plan_view(caller, &plan)?;
            Ok(shown.map(|shown| StartablePlan { shown, may_start }))
        })
        .await
}

/// The file of a plan, with the numbers of its lines.
pub(crate) async fn source(visit: Visit, Path(plan): Path<String>) -> Response {
    visit.show("plan_source.html", move |caller| plan_source(caller, &plan)).await
}

/// The form that starts a plan.
pub(crate) async fn form(
    visit: Visit,
    Path(plan): Path<String>,
    PageQuery(FormQuery { from }): PageQuery<FormQuery>,
) -> Response {
    let may_start = visit.may_start();
    visit
        .show("plan_start.html", move |caller| {
            let shown = plan_form(caller, &plan, &from)?;
            Ok(shown.map(|shown| StartForm { shown, may_start }))
        })
        .await
}

/// Starts a plan, and leads to its run; the same form again, if something is wrong about it.
pub(crate) async fn start(
    visit: Visit,
    Path(plan): Path<String>,
    Form(pairs): Form<Vec<(String, String)>>,
) -> Response {
    let sent = sent_form(pairs);
    let (address, request) = (plan.clone(), sent.clone());
    let started = visit.site.execute(move |caller| {
        Ok(match sent_request(caller, &address, &request) {
            Ok(request) => request.map(|request| request_start(caller, &request)),
            // Its file has problems: they stand beside what was typed.
            Err(error) => Some(Err(error.into())),
        })
    });
    match started.await {
        Ok(None) if sent.path.is_empty() => respond::missing(&visit.site),
        Ok(None) => refused_form(&visit, plan, sent, PlanStartError::gone()).await,
        Ok(Some(Ok(run))) => respond::done(&visit.site, Ok(format!("/runs/{run}"))),
        Ok(Some(Err(error))) => refused_form(&visit, plan, sent, error).await,
        Err(error) => respond::done(&visit.site, Err(error)),
    }
}

/// Returns the form again, with what was typed and the reason why nothing has started.
async fn refused_form(visit: &Visit, plan: String, sent: SentForm, error: PlanStartError) -> Response {
    if visit.wants_json {
        let reason = match &error {
            PlanStartError::Params(errors) => RefusalReason::of_text(&errors.to_string()),
            PlanStartError::Outdated(error) | PlanStartError::Refused(error) => {
                RefusalReason::of_text(&respond::failure_text(&visit.site, error))
            }
        };
        return (StatusCode::UNPROCESSABLE_ENTITY, Json(reason)).into_response();
    }
    let page = visit.show("plan_start.html", move |caller| {
        let shown = refilled_form(caller, &plan, &sent, &error)?;
        Ok(shown.map(|shown| StartForm { shown, may_start: true }))
    });
    let mut page = page.await;
    if page.status() == StatusCode::OK {
        *page.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    }
    page
}

/// Drafts what a browser signs to start a plan.
pub(crate) async fn draft(
    site: LoginSite,
    Path(plan): Path<String>,
    Form(pairs): Form<Vec<(String, String)>>,
) -> Response {
    let sent = sent_form(pairs);
    let drafted = site.change(move |caller| {
        Ok(match sent_request(caller, &plan, &sent) {
            Ok(request) => request.map(|request| draft_plan_start(caller, &request)),
            // The page of the form says more about it.
            Err(error) => Some(Err(PlanStartError::Outdated(error))),
        })
    });
    match drafted.await {
        Ok(None) => respond::plain(StatusCode::UNPROCESSABLE_ENTITY, "the plan is gone\n"),
        Ok(Some(Ok(draft))) => Json(draft).into_response(),
        Ok(Some(Err(PlanStartError::Params(errors)))) => {
            respond::plain(StatusCode::UNPROCESSABLE_ENTITY, &format!("{errors}\n"))
        }
        Ok(Some(Err(PlanStartError::Outdated(error)))) => {
            let reason = respond::failure_text(&site, &error);
            respond::plain(StatusCode::UNPROCESSABLE_ENTITY, &format!("{reason}\n"))
        }
        Ok(Some(Err(PlanStartError::Refused(error)))) | Err(error) => respond::uncounted(&site, &error),
    }
}

/// Reads the fields of a form.
fn sent_form(pairs: Vec<(String, String)>) -> SentForm {
    let (mut sent, mut texts) = (SentForm::default(), BTreeMap::new());
    for (name, text) in pairs {
        // A form sends each end of a line as two characters: a statement that was signed has one.
        let text = text.replace("\r\n", "\n");
        match (name.strip_prefix(PARAM_FIELD), name.as_str()) {
            (Some(param), _) => drop(texts.insert(param.to_owned(), text)),
            (None, "key") => sent.key = text,
            (None, "path") => sent.path = text,
            (None, "plan_digest") => sent.plan_digest = text,
            (None, "token") => sent.token = text,
            (None, _) => {}
        }
    }
    SentForm { texts, ..sent }
}
