use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};

use crate::respond;
use crate::site::Site;
use wf_app::views::{AuditPage, AuditQuery, AuditVerification, audit_page, audit_record, audit_verification};

/// The search, as the address has it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct AuditSearch {
    /// The kind; empty: every kind.
    kind: String,
    /// The beginning of the id of a run; empty: any.
    run: String,
    /// The text, such as the name of a person; empty: any.
    q: String,
    /// The offset in the log before which the records lie.
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
pub(crate) async fn records(State(site): State<Site>, Query(search): Query<AuditSearch>) -> Response {
    respond::view(&site, "audit.html", move |caller| {
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
pub(crate) async fn record(State(site): State<Site>, Path(number): Path<String>) -> Response {
    let Ok(number) = number.parse() else {
        return respond::missing(&site);
    };
    respond::view(&site, "audit_record.html", move |caller| audit_record(caller, number)).await
}

/// The verification of the hash chains of both logs.
pub(crate) async fn verification(State(site): State<Site>) -> Response {
    respond::view(&site, "audit_verify.html", |caller| {
        Ok(Some(VerificationView { verification: audit_verification(caller)? }))
    })
    .await
}
