use axum::{extract::Query, response::Response};
use serde::{Deserialize, Serialize};

use crate::visit::Visit;

/// The reason for which a browser is on the page, as the address has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct KeyQuery {
    /// The page that wants a signature; empty: none.
    back: String,
    /// The word for the risk of what is signed.
    risk: String,
}

/// The page of the keys.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct KeyView {
    /// The page that wants a signature.
    back: Option<String>,
    /// True if only a passkey signs for that.
    needs_passkey: bool,
}

/// The keys of the browser, which the browser and its device alone have.
pub(crate) async fn key(visit: Visit, Query(query): Query<KeyQuery>) -> Response {
    visit.show("key.html", move |_| Ok(Some(KeyView::of(query)))).await
}

impl KeyView {
    fn of(query: KeyQuery) -> Self {
        let KeyQuery { back, risk } = query;
        // Another address could lead away from here.
        let is_own = back.starts_with('/') && !back.starts_with("//") && !back.contains('\\');
        let is_plain = back.bytes().all(|byte| byte.is_ascii_graphic());
        Self { back: Some(back).filter(|_| is_own && is_plain), needs_passkey: risk == "irreversible" }
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyQuery, KeyView};

    #[test]
    fn the_page_of_keys_leads_back_to_this_site_alone() {
        let back = |back: &str| KeyView::of(KeyQuery { back: back.into(), risk: String::new() }).back;
        assert_eq!(back("/inbox/1a/2").as_deref(), Some("/inbox/1a/2"));
        for foreign in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "javascript:x",
            "/\t/evil.example",
        ] {
            assert_eq!(back(foreign), None, "{foreign}");
        }
        assert!(KeyView::of(KeyQuery { back: String::new(), risk: "irreversible".into() }).needs_passkey);
    }
}
