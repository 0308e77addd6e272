use std::{collections::BTreeSet, sync::Arc};

use axum::{
    extract::{Extension, Form},
    response::Response,
};
use serde::{Deserialize, Serialize};

use crate::{
    login_table::LoginAccess,
    query::PageQuery,
    respond,
    site::Site,
    visit::{LoginSite, Visit},
    workspaces::ServedWorkspace,
};
use wf_app::{
    Caller, CommandError,
    keys::{ApproverKey, EnrolledKey, KeyAsker, ask_enrolment, asked_keys, enrolled_key},
};
use wf_base::{time::Moment, untrusted::untrusted};

/// The reason for which a browser is on the page, as the address has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct KeyQuery {
    /// The page that wants a signature; empty: none.
    back: String,
    /// The word for the risk of what is signed.
    risk: String,
    /// The public key of the question; empty: none.
    key: String,
}

/// The page of the keys.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct KeyView {
    /// The page that wants a signature.
    back: Option<String>,
    /// True if only a passkey signs for that.
    needs_passkey: bool,
    /// The name of the workspace whose approvers they would be.
    place: String,
    /// The keys to be enrolled, the last one first.
    asked: Vec<AskedKeyRow>,
    /// The key of the question.
    known: Option<ExplainedKey>,
}

/// A public key, with the words of each workspace about it.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct ExplainedKey {
    key: String,
    words: String,
    digest: String,
    /// True if an answer with it counts in one of them.
    is_enrolled: bool,
    /// A sentence about each workspace.
    places: Vec<String>,
}

/// A key of a browser to be enrolled.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct AskedKeyRow {
    key: String,
    words: String,
    /// The beginning of its digest, as refusals and the audit log have it.
    digest: String,
    /// The name of the asking login.
    name: String,
    at: Moment,
}

impl AskedKeyRow {
    /// Returns the keys to be enrolled, of logins that have not ended.
    pub fn list(caller: &dyn Caller, open_logins: &BTreeSet<String>) -> Result<Vec<Self>, CommandError> {
        let rows = asked_keys(caller, open_logins)?.into_iter().map(|asked| Self {
            key: asked.key.text(),
            words: asked.key.words(),
            digest: asked.key.id().short(),
            name: asked.name,
            at: asked.at,
        });
        Ok(rows.collect())
    }

    pub fn is_of(&self, key: &ApproverKey) -> bool {
        self.key == key.text()
    }
}

/// The form of a browser with its key to be enrolled.
#[derive(Deserialize)]
pub(crate) struct AskedKeyForm {
    key: String,
}

/// The keys of the browser, which the browser and its device alone have.
pub(crate) async fn key(visit: Visit, PageQuery(query): PageQuery<KeyQuery>) -> Response {
    let workspaces = Arc::clone(&visit.site.workspaces);
    let open_logins = visit.site.logins.open_ids(visit.site.host().now());
    let place = place_name(&visit.site);
    visit
        .show("key.html", move |caller| {
            let asked = AskedKeyRow::list(caller, &open_logins)?;
            Ok(Some(KeyView { place, asked, ..KeyView::of(query, &workspaces) }))
        })
        .await
}

/// Returns the name of the workspace in which a page asks for a key: at the entrance to several, that with the logins.
pub(super) fn place_name(site: &Site) -> String {
    let digest = site.host().workspace().digest();
    let is_own = |one: &&ServedWorkspace| one.caller.host().workspace().digest() == digest;
    let own = site.workspaces.iter().find(is_own).map(|one| one.name.clone());
    own.unwrap_or_else(|| site.name.to_string())
}

/// Notes a key of a browser to be enrolled.
pub(crate) async fn ask(
    site: LoginSite,
    Extension(access): Extension<LoginAccess>,
    Form(form): Form<AskedKeyForm>,
) -> Response {
    let open_logins = site.logins.open_ids(site.host().now());
    let asked = site.change(move |caller| {
        let asker = KeyAsker { access: access.as_str(), open_logins: &open_logins };
        ask_enrolment(caller, &form.key, asker).map(|_| "/keys".to_owned())
    });
    respond::done(&site, asked.await)
}

impl ExplainedKey {
    fn read(key: &ApproverKey, workspaces: &[ServedWorkspace]) -> Self {
        let (mut is_enrolled, mut places) = (false, Vec::new());
        let is_alone = workspaces.len() == 1;
        for workspace in workspaces {
            let found = enrolled_key(&*workspace.caller, key);
            is_enrolled |=
                found.as_ref().is_ok_and(|found| found.as_ref().is_some_and(|one| one.revoked.is_none()));
            let place = if is_alone { "here".to_owned() } else { format!("in {}", workspace.name) };
            places.push(untrusted(&place_sentence(found.as_ref(), &place)).block());
        }
        Self { key: key.text(), words: key.words(), digest: key.id().short(), is_enrolled, places }
    }
}

/// Returns what a workspace says of a key. A name in it is one of an approver, as they are listed.
pub(super) fn place_sentence(found: Result<&Option<EnrolledKey>, &CommandError>, place: &str) -> String {
    match found {
        Ok(Some(EnrolledKey { name, revoked: None })) => format!("Enrolled as {name} {place}."),
        Ok(Some(EnrolledKey { name, revoked: Some(since) })) => {
            format!("Revoked {place}: it was {name}'s, and signs nothing since {}.", since.to_second())
        }
        Ok(None) => format!("Not enrolled {place}."),
        Err(_) => format!("Unknown {place}: its approvers.yaml cannot be read."),
    }
}

impl KeyView {
    fn of(query: KeyQuery, workspaces: &[ServedWorkspace]) -> Self {
        let KeyQuery { back, risk, key } = query;
        // Another address could lead away from here.
        let is_own = back.starts_with('/') && !back.starts_with("//") && !back.contains('\\');
        let is_plain = back.bytes().all(|byte| byte.is_ascii_graphic());
        let back = Some(back).filter(|_| is_own && is_plain);
        // A text that is no key is one that nobody has.
        let key = ApproverKey::parse(key.trim()).ok();
        let known = key.map(|key| ExplainedKey::read(&key, workspaces));
        let needs_passkey = risk == "irreversible";
        Self { back, needs_passkey, place: String::new(), asked: Vec::new(), known }
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyQuery, KeyView, place_sentence};
    use wf_app::{CliExitCode, CommandError, keys::EnrolledKey};
    use wf_base::time::Moment;

    #[test]
    fn the_page_of_keys_leads_back_to_this_site_alone() {
        let back = |back: &str| KeyView::of(KeyQuery { back: back.into(), ..KeyQuery::default() }, &[]).back;
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
        let query = KeyQuery { risk: "irreversible".into(), ..KeyQuery::default() };
        assert!(KeyView::of(query, &[]).needs_passkey);
    }

    #[test]
    fn a_key_is_enrolled_as_somebody_or_it_is_said_why_not() {
        let key = |revoked| Some(EnrolledKey { name: "ada".into(), revoked });
        let sentence = |found: &Option<EnrolledKey>| place_sentence(Ok(found), "in lab");
        assert_eq!(sentence(&key(None)), "Enrolled as ada in lab.");
        let since = Moment::parse("2026-11-21T00:00:00Z").unwrap();
        assert!(sentence(&key(Some(since))).starts_with("Revoked in lab: it was ada's"));
        assert_eq!(sentence(&None), "Not enrolled in lab.");
        let broken = CommandError::reported(CliExitCode::Invalid);
        assert!(place_sentence(Err(&broken), "here").starts_with("Unknown here"));
    }
}
