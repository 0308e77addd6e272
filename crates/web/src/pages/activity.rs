use axum::extract::{Extension, Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};

use crate::logins::LoginAccess;
use crate::respond;
use crate::site::Site;
use wf_app::views::{ActivityPage, ActivityQuery, activity_page};

/// The search, as the address has it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct ActivitySearch {
    /// The text; empty: any.
    q: String,
    /// The id of a plan or a goal; empty: any.
    plan: String,
    /// The name of a person; empty: any.
    person: String,
    /// The number of the event before which it happened.
    before: Option<u64>,
}

#[derive(Serialize)]
struct ActivityView {
    page: ActivityPage,
    search: ActivitySearch,
    may_operate: bool,
}

/// The sentences about what was done, newest first.
pub(crate) async fn activity(
    State(site): State<Site>,
    Extension(access): Extension<LoginAccess>,
    Query(search): Query<ActivitySearch>,
) -> Response {
    let may_operate = access >= LoginAccess::Operate;
    respond::view(&site, "activity.html", move |caller| {
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
