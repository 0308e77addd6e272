//! The page on which an approver confirms the key of another browser, by its words, with a key of this one.

use axum::{
    Json,
    extract::{Extension, Form},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};

use super::keys::{AskedKeyRow, place_name, place_sentence};
use crate::{
    guard,
    login_table::LoginAccess,
    query::PageQuery,
    respond,
    visit::{LoginSite, Visit},
};
use wf_app::{
    Caller, CommandError,
    keys::{
        ApproverKey, ApproversChange, KeyCandidate, check_signable, draft_enrolment, enrolled_key,
        submit_enrolment, uncommitted_approvers,
    },
    usage_error,
};
use wf_base::untrusted::untrusted;

/// The access of a browser that enrols: the highest.
const ENROLLING: LoginAccess = LoginAccess::Start;

/// The key of a page, as the address has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EnrolQuery {
    key: String,
}

/// The form of an approver.
#[derive(Deserialize)]
pub(crate) struct EnrolForm {
    key: String,
    /// The name of the new approver.
    name: String,
    /// The signed statement; empty in a draft.
    #[serde(default)]
    token: String,
}

/// The page of a key to be enrolled, or of one that is.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct EnrolmentView {
    key: String,
    words: String,
    digest: String,
    is_passkey: bool,
    /// The request of its browser; `None`: nobody asks for it.
    asked: Option<AskedKeyRow>,
    /// The name of the workspace.
    place: String,
    /// A sentence about it, if the workspace lists it.
    listed: Option<String>,
    /// The lines of `approvers.yaml` that are in no commit, if it is listed; empty: all are, or the workspace is in no repository.
    uncommitted: String,
    /// The reason for which no approver can sign for it on a page.
    refusal: Option<String>,
    may_enrol: bool,
}

/// The page of a key that an approver may list.
pub(crate) async fn page(visit: Visit, PageQuery(query): PageQuery<EnrolQuery>) -> Response {
    let Ok(key) = ApproverKey::parse(query.key.trim()) else {
        let remedy = "The address has a public key, as the page of the keys leads to it: /keys.";
        return visit.site.templates.refusal(StatusCode::NOT_FOUND, "This is no public key", remedy);
    };
    let open_logins = visit.site.logins.open_ids(visit.site.host().now());
    let (place, may_enrol) = (place_name(&visit.site), visit.access >= ENROLLING);
    visit
        .show("enrol.html", move |caller| {
            let asked = AskedKeyRow::list(caller, &open_logins)?.into_iter().find(|row| row.is_of(&key));
            let view = EnrolmentView { asked, place, may_enrol, ..EnrolmentView::of(caller, &key)? };
            Ok(Some(view))
        })
        .await
}

impl EnrolmentView {
    fn of(caller: &dyn Caller, key: &ApproverKey) -> Result<Self, CommandError> {
        let found = enrolled_key(caller, key)?;
        let listed = found.is_some().then(|| untrusted(&place_sentence(Ok(&found), "here")).block());
        let uncommitted = match listed.as_ref().map(|_| uncommitted_approvers(caller)).transpose()? {
            Some(ApproversChange::Uncommitted(changes)) => changes,
            _ => String::new(),
        };
        Ok(Self {
            key: key.text(),
            words: key.words(),
            digest: key.id().short(),
            is_passkey: key.is_passkey(),
            asked: None,
            place: String::new(),
            listed,
            uncommitted,
            refusal: check_signable(caller).err().map(|error| error.message),
            may_enrol: false,
        })
    }
}

/// Drafts what an approver signs for another key.
pub(crate) async fn draft(
    site: LoginSite,
    Extension(access): Extension<LoginAccess>,
    Form(form): Form<EnrolForm>,
) -> Response {
    if access < ENROLLING {
        return guard::lacks_access(&site, access, ENROLLING);
    }
    let drafted =
        site.change(move |caller| with_candidate(&form, |candidate| draft_enrolment(caller, candidate)));
    match drafted.await {
        Ok(draft) => Json(draft).into_response(),
        Err(error) => respond::uncounted(&site, &error),
    }
}

/// Lists a key for which an approver has signed, and leads to its page.
pub(crate) async fn enrol(
    site: LoginSite,
    Extension(access): Extension<LoginAccess>,
    Form(form): Form<EnrolForm>,
) -> Response {
    if access < ENROLLING {
        return guard::lacks_access(&site, access, ENROLLING);
    }
    let enrolled = site.change(move |caller| {
        with_candidate(&form, |candidate| {
            // A form has the ends of lines of the network.
            submit_enrolment(caller, candidate, &form.token.replace("\r\n", "\n"))?;
            Ok(format!("/keys/enrol?key={}", candidate.key.text()))
        })
    });
    respond::done(&site, enrolled.await)
}

fn with_candidate<T>(
    form: &EnrolForm,
    act: impl FnOnce(KeyCandidate<'_>) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let key = ApproverKey::parse(form.key.trim()).map_err(|error| usage_error(error.to_string()))?;
    act(KeyCandidate { key: &key, name: form.name.trim() })
}
