//! The query of an address of a page, read with a page that says what is wrong with it.

use std::collections::BTreeSet;

use axum::{
    extract::{FromRequestParts, Query, rejection::QueryRejection},
    http::{StatusCode, Uri, request::Parts},
    response::Response,
};
use serde::de::DeserializeOwned;

use crate::site::Site;
use wf_base::untrusted::plain;

/// The fields that an address may have several times: the selected runs, and the states of a filter.
const LISTS: [&str; 2] = ["run", "state"];

const REMEDY: &str = "Change that field, or leave it out.";

/// The query of an address. What it cannot mean is refused, and never taken for something else.
pub(crate) struct PageQuery<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<Site> for PageQuery<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Site) -> Result<Self, Response> {
        let refused = |reason: &str, remedy: &str| {
            let title = format!("The address means nothing here: {}", plain(reason));
            site.templates.refusal(StatusCode::BAD_REQUEST, &title, remedy)
        };
        if let Some(mistake) = mistake_of(&parts.uri) {
            return Err(refused(&mistake, REMEDY));
        }
        let read: Result<Query<T>, QueryRejection> = Query::from_request_parts(parts, site).await;
        read.map(|Query(query)| Self(query)).map_err(|refusal| {
            let text = refusal.body_text();
            let (_, reason) = text.split_once(": ").unwrap_or(("", &text));
            refused(reason, REMEDY)
        })
    }
}

/// Returns the mistake in the fields of an address, whatever page it is of.
fn mistake_of(address: &Uri) -> Option<String> {
    let query = address.query().unwrap_or_default();
    let Query(fields) = Query::<Vec<(String, String)>>::try_from_uri(address).ok()?;
    let mut names = BTreeSet::new();
    for (name, value) in fields {
        // Bytes that are no text are read as this character.
        let is_replaced = |c: char| c == '\u{fffd}' && !query.to_ascii_lowercase().contains("%ef%bf%bd");
        let is_odd = |c: char| (c.is_control() && !c.is_whitespace()) || is_replaced(c);
        if name.chars().chain(value.chars()).any(is_odd) {
            return Some(format!("`{name}` has a character that is in no text"));
        }
        if !LISTS.contains(&name.as_str()) && !names.insert(name.clone()) {
            return Some(format!("`{name}` is in it twice"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::mistake_of;
    use axum::http::Uri;

    fn mistake(query: &str) -> Option<String> {
        mistake_of(&format!("/runs?{query}").parse::<Uri>().unwrap())
    }

    #[test]
    fn a_field_is_a_text_and_there_once() {
        for fine in
            ["", "q=a+b&page=2", "state=failed&state=waiting&run=1&run=2", "q=%EF%BF%BD", "q=a%0Ab%09"]
        {
            assert_eq!(mistake(fine), None, "{fine}");
        }
        for (odd, expected) in [
            ("q=a&q=b", "`q` is in it twice"),
            ("q=%00", "`q` has a character that is in no text"),
            ("plan=%FF", "`plan` has a character that is in no text"),
            ("q=%1B[2J", "`q` has a character that is in no text"),
        ] {
            assert_eq!(mistake(odd).as_deref(), Some(expected), "{odd}");
        }
    }
}
