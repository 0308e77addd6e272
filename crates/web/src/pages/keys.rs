use axum::{
    extract::{Form, Query},
    response::Response,
};
use serde::{Deserialize, Serialize};

use crate::{
    respond,
    visit::{LoginSite, Visit},
};
use wf_app::{
    Caller, CommandError,
    keys::{ask_enrolment, asked_keys},
};
use wf_base::time::Moment;

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
    /// The keys to be enrolled, the last one first.
    asked: Vec<AskedKeyRow>,
}

/// A key of a browser to be enrolled.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct AskedKeyRow {
    key: String,
    words: String,
    /// The name of the asking login.
    name: String,
    at: Moment,
}

/// The form of a browser with its key to be enrolled.
#[derive(Deserialize)]
pub(crate) struct AskedKeyForm {
    key: String,
}

/// The keys of the browser, which the browser and its device alone have.
pub(crate) async fn key(visit: Visit, Query(query): Query<KeyQuery>) -> Response {
    visit.show("key.html", move |caller| KeyView::read(caller, query).map(Some)).await
}

/// Notes a key of a browser to be enrolled.
pub(crate) async fn ask(site: LoginSite, Form(form): Form<AskedKeyForm>) -> Response {
    let asked = site.change(move |caller| ask_enrolment(caller, &form.key).map(|_| "/keys".to_owned()));
    respond::done(&site, asked.await)
}

impl KeyView {
    fn read(caller: &dyn Caller, query: KeyQuery) -> Result<Self, CommandError> {
        let asked = asked_keys(caller)?.into_iter().map(|asked| AskedKeyRow {
            key: asked.key.text(),
            words: asked.key.words(),
            name: asked.name,
            at: asked.at,
        });
        Ok(Self { asked: asked.collect(), ..Self::of(query) })
    }

    fn of(query: KeyQuery) -> Self {
        let KeyQuery { back, risk } = query;
        // Another address could lead away from here.
        let is_own = back.starts_with('/') && !back.starts_with("//") && !back.contains('\\');
        let is_plain = back.bytes().all(|byte| byte.is_ascii_graphic());
        let back = Some(back).filter(|_| is_own && is_plain);
        Self { back, needs_passkey: risk == "irreversible", asked: Vec::new() }
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
