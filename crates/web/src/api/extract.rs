//! The requests of a program, read with a refusal that says what is wrong, and where.

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Query, Request, rejection::QueryRejection},
    http::{HeaderMap, StatusCode, header::ACCEPT, request::Parts},
    response::IntoResponse,
};
use serde::de::DeserializeOwned;

use super::problem::ApiError;
use crate::site::Site;
use wf_base::exact_json;

/// The header with the key by which a request that is sent again does nothing again.
pub(super) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The lengths of such a key: a shorter one is not likely to be the only one of its kind.
const KEY_LENGTHS: std::ops::RangeInclusive<usize> = 8..=128;

/// The query of an address.
pub(super) struct ApiQuery<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<Site> for ApiQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, site: &Site) -> Result<Self, ApiError> {
        let read: Result<Query<T>, QueryRejection> = Query::from_request_parts(parts, site).await;
        match read {
            Ok(Query(query)) => Ok(Self(query)),
            Err(refusal) => {
                let text = refusal.body_text();
                let (_, reason) = text.split_once(": ").unwrap_or(("", &text));
                Err(ApiError::new(StatusCode::BAD_REQUEST, reason).place("query"))
            }
        }
    }
}

/// A body of JSON; an empty one is an empty object.
pub(super) struct ApiBody<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Site> for ApiBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, site: &Site) -> Result<Self, ApiError> {
        let bytes = Bytes::from_request(request, site).await.map_err(|refusal| {
            let status = refusal.into_response().status();
            ApiError::new(status, "the body of the request cannot be read, or is too large").place("body")
        })?;
        read_body(&bytes).map(Self)
    }
}

/// Reads a body: an object. As a list, its fields would be taken by their order.
fn read_body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let text = if bytes.trim_ascii().is_empty() { b"{}" } else { bytes };
    if text.trim_ascii_start().starts_with(b"[") {
        let message = "the body means nothing here: it is a list, and not an object";
        return Err(ApiError::new(StatusCode::BAD_REQUEST, message).place("body, line 1, column 1"));
    }
    exact_json::read_bytes(text).map_err(|error| {
        let message = error.to_string();
        let (message, at) = message.rsplit_once(" at line ").unwrap_or((&message, "1 column 0"));
        let kind = if error.is_data() { "the body means nothing here" } else { "the body is no JSON" };
        let place = format!("body, line {}", at.replace(" column ", ", column "));
        ApiError::new(StatusCode::BAD_REQUEST, format!("{kind}: {message}")).place(place)
    })
}

/// Returns the key of a request; `None`: it has none.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else {
        return Ok(None);
    };
    let text = value.to_str().ok().filter(|text| KEY_LENGTHS.contains(&text.len()));
    text.map(|text| Some(text.to_owned())).ok_or_else(|| {
        let (least, most) = (KEY_LENGTHS.start(), KEY_LENGTHS.end());
        let message = format!("an `Idempotency-Key` has {least} to {most} characters of ASCII");
        ApiError::new(StatusCode::BAD_REQUEST, message)
            .remedy("make a new one for each run, such as a UUID")
            .place("Idempotency-Key")
    })
}

/// True if a program prefers the text for people.
pub(super) fn wants_text(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepts.contains("text/plain") && !accepts.contains("application/json")
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use serde_json::{Value, json};

    use super::{IDEMPOTENCY_KEY, idempotency_key, read_body};
    use wf_app::api::ApiStart;

    #[test]
    fn a_body_that_means_nothing_is_refused_with_its_place() {
        let refusal = |text: &str| -> Value {
            serde_json::to_value(read_body::<ApiStart>(text.as_bytes()).unwrap_err()).unwrap()["error"].take()
        };
        let broken = refusal("{\"params\":\n {]");
        assert_eq!(
            (&broken["code"], &broken["place"]),
            (&json!("bad_request"), &json!("body, line 2, column 3"))
        );
        let unknown = refusal("{\"parms\": {}}");
        assert!(
            unknown["message"].as_str().unwrap().contains("unknown field `parms`, expected"),
            "{unknown}"
        );
        assert_eq!(read_body::<ApiStart>(b" \n").unwrap(), ApiStart::default());
        let twice = refusal("{\"params\": {\"a\": 1,\n \"a\": 2}}");
        assert_eq!(
            (&twice["message"], &twice["place"]),
            (&json!("the body means nothing here: duplicate key `a`"), &json!("body, line 2, column 8"))
        );
        let list = refusal(" [{\"greeting\": \"hello\"}, null, null]");
        assert!(list["message"].as_str().unwrap().contains("a list, and not an object"), "{list}");
    }

    #[test]
    fn the_key_of_a_request_is_not_too_short() {
        let key = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(IDEMPOTENCY_KEY, text.parse().unwrap());
            idempotency_key(&headers)
        };
        assert_eq!(idempotency_key(&HeaderMap::new()).unwrap(), None);
        assert_eq!(key("deploy-2026-11-30").unwrap().as_deref(), Some("deploy-2026-11-30"));
        assert!(key("1").is_err() && key(&"x".repeat(129)).is_err());
    }
}
