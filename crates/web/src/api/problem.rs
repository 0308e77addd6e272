//! The one form of a refusal: a word for a program, a sentence for people, what to do, and the place of the mistake.

use axum::{
    Json,
    http::{
        HeaderValue, StatusCode,
        header::{ALLOW, WWW_AUTHENTICATE},
    },
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{login_table::LoginAccess, respond::RefusalReason, site::Site};
use wf_app::{CliExitCode, CommandError};
use wf_base::untrusted::plain;

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub(crate) struct ApiError {
    pub error: ApiProblem,
    #[serde(skip)]
    #[schemars(skip)]
    pub status: StatusCode,
}

/// The reason of a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct ApiProblem {
    /// A word that stays: `bad_request`, `unauthorized`, `forbidden`, `not_found`, `method_not_allowed`, `conflict`, `outdated`,
    /// `signature_required`, `invalid_params`, `too_large`, `too_many_requests`, `unavailable`, `internal` and others.
    code: String,
    /// A sentence about what happened.
    message: String,
    /// The means against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// The place of the mistake in what was sent: the name of a header or a part of the query, or a JSON pointer into the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

impl ApiError {
    /// Refuses a request for a reason.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        let error = ApiProblem {
            code: code_of(status).to_owned(),
            message: message.into(),
            remedy: None,
            place: None,
        };
        Self { error, status }
    }

    /// Adds what to do.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.error.remedy = Some(remedy.into());
        self
    }

    /// Adds the place of the mistake.
    #[must_use]
    pub fn place(mut self, place: impl Into<String>) -> Self {
        self.error.place = Some(place.into());
        self
    }

    /// Replaces the word for it.
    #[must_use]
    pub fn code(mut self, code: &str) -> Self {
        code.clone_into(&mut self.error.code);
        self
    }

    /// Says that something is not there.
    pub fn missing(kind: &str, name: &str) -> Self {
        let name = plain(name);
        Self::new(StatusCode::NOT_FOUND, format!("there is no {kind} `{name}`, or its id is ambiguous"))
    }

    /// Says that a key may not do what it asks for.
    pub fn lacks_access(own: LoginAccess, wanted: LoginAccess) -> Self {
        let (own, wanted) = (own.as_str(), wanted.as_str());
        Self::new(
            StatusCode::FORBIDDEN,
            format!("the key may `{own}`, and this needs one that may `{wanted}`"),
        )
        .remedy("nothing was changed; ask for a key with more access")
    }

    /// Returns the failure of a view: a mistake in what was asked for, or a state that cannot be read.
    pub fn of_view(site: &Site, error: &CommandError) -> Self {
        let status = match error.exit {
            CliExitCode::Usage | CliExitCode::Invalid => StatusCode::BAD_REQUEST,
            CliExitCode::State => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::of_failure(site, status, error)
    }

    /// Returns the failure of an act: nothing was done, since things are not as it needs them.
    pub fn of_act(site: &Site, error: &CommandError) -> Self {
        let is_signature = error.exit == CliExitCode::Approval;
        let refusal = Self::of_failure(site, StatusCode::CONFLICT, error);
        if is_signature { refusal.code("signature_required") } else { refusal }
    }

    fn of_failure(site: &Site, status: StatusCode, error: &CommandError) -> Self {
        Self::of_reason(status, RefusalReason::of_text(&crate::respond::failure_text(site, error)))
    }

    /// Returns a refusal with the reason that another layer gave, or the framework.
    pub fn of_reason(status: StatusCode, reason: RefusalReason) -> Self {
        let RefusalReason { error, remedy } = reason;
        if status == StatusCode::UNAUTHORIZED {
            return Self::new(status, "the request has no key of this server, or the key has ended")
                .remedy("send the key of a program as `Authorization: Bearer KEY`")
                .place("Authorization");
        }
        let refusal = Self::new(status, error);
        match remedy {
            Some(remedy) => refusal.remedy(remedy),
            None => refusal,
        }
    }

    /// Refuses every method but one.
    pub fn wrong_method(allowed: &'static str) -> Response {
        let refusal = Self::new(StatusCode::METHOD_NOT_ALLOWED, format!("this address takes {allowed}"));
        ([(ALLOW, allowed)], refusal).into_response()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(&self)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Returns the word for a status.
fn code_of(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => "bad_request",
        401 => "unauthorized",
        403 => "forbidden",
        404 => "not_found",
        405 => "method_not_allowed",
        408 => "timeout",
        409 => "conflict",
        413 => "too_large",
        415 => "unsupported_media_type",
        421 => "other_host",
        422 => "invalid",
        429 => "too_many_requests",
        503 => "unavailable",
        code if code < 500 => "refused",
        _ => "internal",
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::{ApiError, code_of};

    #[test]
    fn every_refusal_has_a_word() {
        let statuses = (400..600).filter_map(|code| StatusCode::from_u16(code).ok());
        assert!(statuses.into_iter().all(|status| !code_of(status).is_empty()));
        let refusal = ApiError::new(StatusCode::CONFLICT, "x").code("outdated").place("/digest").remedy("y");
        let text = serde_json::to_string(&refusal).unwrap();
        let expected = r#"{"error":{"code":"outdated","message":"x","remedy":"y","place":"/digest"}}"#;
        assert_eq!(text, expected);
    }
}
