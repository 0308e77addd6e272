//! The pages of the audit log, and of the activity in a workspace.

use crate::{query::PageQuery, respond, visit::Visit};
use axum::{extract::Path, response::Response};
use serde::{Deserialize, Serialize};
use wf_app::views::{
    ActivityPage, ActivityQuery, AuditPage, AuditQuery, AuditVerification, activity_page, audit_page,
    audit_record, audit_verification,
};

/// The search in the audit log, as the address of its page has it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct AuditSearch {
    /// The kind; empty: every kind.
    kind: String,
    /// The beginning of the id of a run; empty: any.
    run: String,
    /// The text, such as the name of a person; empty: any.
    q: String,
    /// The offset in the log before which the records of the page lie.
    before: Option<u64>,
}

#[derive(Serialize)]
struct AuditView {
    page: AuditPage,
    search: AuditSearch,
}

#[derive(Serialize)]
struct VerificationView {
    verification: Option<AuditVerification>,
}

/// The records of the audit log, newest first.
pub(crate) async fn records(visit: Visit, PageQuery(search): PageQuery<AuditSearch>) -> Response {
    visit
        .show("audit.html", move |caller| {
            let query = AuditQuery {
                kind: search.kind.clone(),
                run: search.run.clone(),
                text: search.q.clone(),
                before: search.before,
            };
            Ok(Some(AuditView { page: audit_page(caller, &query)?, search }))
        })
        .await
}

/// A record of the audit log.
pub(crate) async fn record(visit: Visit, Path(number): Path<String>) -> Response {
    let Ok(number) = number.parse() else {
        return respond::missing(&visit.site);
    };
    visit.show("audit_record.html", move |caller| audit_record(caller, number)).await
}

/// The verification of the hash chains of both logs.
pub(crate) async fn verification(visit: Visit) -> Response {
    let Some(place) = visit.site.place_for_verification() else {
        return respond::busy(&visit.site, "Another verification is under way.");
    };
    visit
        .show("audit_verify.html", move |caller| {
            let _place = place;
            Ok(Some(VerificationView { verification: audit_verification(caller)? }))
        })
        .await
}

/// The search in the activity, as the address of its page has it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct ActivitySearch {
    /// The text; empty: any.
    q: String,
    /// The id of a plan or a goal; empty: any.
    plan: String,
    /// The name of a person; empty: any.
    person: String,
    /// The number of the event before which the events of the page lie.
    before: Option<u64>,
}

#[derive(Serialize)]
struct ActivityView {
    page: ActivityPage,
    search: ActivitySearch,
    may_operate: bool,
}

/// The sentences about what was done, newest first.
pub(crate) async fn activity(visit: Visit, PageQuery(search): PageQuery<ActivitySearch>) -> Response {
    let may_operate = visit.may_operate();
    visit
        .show("activity.html", move |caller| {
            let query = ActivityQuery {
                text: search.q.clone(),
                plan: search.plan.clone(),
                person: search.person.clone(),
                before: search.before,
            };
            Ok(Some(ActivityView { page: activity_page(caller, &query)?, search, may_operate }))
        })
        .await
}
