use crate::{
    respond,
    site::Site,
    visit::{LoginSite, Visit},
};
use axum::{
    Json,
    extract::{Form, Path, rejection::FormRejection},
    http::{
        StatusCode,
        header::{ACCEPT, HeaderMap, LOCATION},
    },
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use wf_app::{
    connections::{SecretEntryError, SecretPrompt, enter_secret, waiting_secrets},
    views::{ConnectionView, connection_views},
};

/// The longest form with a secret, in bytes.
pub(crate) const MAX_FORM_SIZE: usize = 64 * 1024;

/// The secrets awaited by setups, for a browser with some access.
#[derive(Serialize)]
struct SecretsView {
    secrets: Vec<SecretPrompt>,
    may_operate: bool,
}

/// A secret as it was entered. It has no text for logs.
#[derive(Deserialize)]
pub(crate) struct SecretForm {
    value: String,
}

/// The part of an address naming a secret.
#[derive(Deserialize)]
pub(crate) struct SecretAddress {
    connection: String,
    ref_id: String,
}

/// The secrets awaited by setups.
pub(crate) async fn secrets(visit: Visit) -> Response {
    let may_operate = visit.may_operate();
    visit
        .show("secrets.html", move |caller| {
            Ok(Some(SecretsView { secrets: waiting_secrets(caller), may_operate }))
        })
        .await
}

/// Hands a secret over to the setup waiting for it. No answer has the secret in it.
pub(crate) async fn enter(
    site: LoginSite,
    Path(address): Path<SecretAddress>,
    headers: HeaderMap,
    form: Result<Form<SecretForm>, FormRejection>,
) -> Response {
    let form = match form {
        Ok(Form(form)) => form,
        Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let message = format!("a form with a secret has at most {MAX_FORM_SIZE} bytes");
            return refused(&site, StatusCode::PAYLOAD_TOO_LARGE, &message);
        }
        Err(rejection) => return refused(&site, rejection.status(), "send a form with one field, `value`"),
    };
    let entered = site
        .change(move |caller| Ok(enter_secret(caller, &address.connection, &address.ref_id, &form.value)));
    match entered.await {
        Ok(Ok(())) if accepts_json(&headers) => Json(json!({"stored": true})).into_response(),
        Ok(Ok(())) => (StatusCode::SEE_OTHER, [(LOCATION, site.page("/secrets"))]).into_response(),
        Ok(Err(error)) => refused(&site, status(&error), &error.to_string()),
        Err(error) => respond::failure(&site, &error),
    }
}

fn status(error: &SecretEntryError) -> StatusCode {
    match error {
        SecretEntryError::Unknown => StatusCode::NOT_FOUND,
        SecretEntryError::Duplicate => StatusCode::CONFLICT,
        SecretEntryError::Unfit(_) | SecretEntryError::Weak(_) => StatusCode::UNPROCESSABLE_ENTITY,
        SecretEntryError::Unable(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn accepts_json(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.starts_with("application/json"))
}

fn refused(site: &Site, status: StatusCode, reason: &str) -> Response {
    site.templates.refusal(status, "The secret was not stored", reason)
}

#[derive(Serialize)]
struct ConnectionsView {
    connections: Vec<ConnectionView>,
}

/// The accounts at services.
pub(crate) async fn connections(visit: Visit) -> Response {
    visit
        .show("connections.html", |caller| {
            Ok(Some(ConnectionsView { connections: connection_views(caller)? }))
        })
        .await
}
