//! The names of public keys for people: that of an approver, of a file of theirs, or of the asking browser.

use std::collections::BTreeMap;

use super::{asked::noted_keys, key_folder, usable_keys};
use crate::{Caller, CommandError, specs::load::approvers};
use wf_base::{digest::Sha256Digest, time::Moment};
use wf_sign::{ApproverKey, approval::Approvers, key_words};

/// A key among the approvers of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnrolledKey {
    /// The name of its approver.
    pub name: String,
    /// The moment since which it signs nothing.
    pub revoked: Option<Moment>,
}

/// Returns the key as the workspace lists it; `None`: it is not one of an approver.
pub fn enrolled_key(caller: &dyn Caller, key: &ApproverKey) -> Result<Option<EnrolledKey>, CommandError> {
    let Some((file, _)) = approvers(caller, &caller.host().workspace())? else {
        return Ok(None);
    };
    let is = |record: &&crate::config::ApproverRecord| {
        record.key.as_ref().is_some_and(|named| named.value.0 == *key)
    };
    Ok(file.approvers.iter().find(is).map(|record| EnrolledKey {
        name: record.name.as_ref().map(|name| name.value.clone()).unwrap_or_default(),
        revoked: record.revoked.as_ref().map(|since| since.0),
    }))
}

/// Returns the approvers that the workspace lists, with the text of their file; without one it lists nobody.
pub(super) fn approvers_of(caller: &dyn Caller) -> Result<(Approvers, String), CommandError> {
    Ok(match approvers(caller, &caller.host().workspace())? {
        Some((file, source)) => (file.into(), source.text().to_owned()),
        None => (Approvers::owner(Vec::new()), String::new()),
    })
}

/// Returns the name of the key with a digest that is not one of an approver, with the beginning of the digest beside it.
pub(crate) fn known_key(caller: &dyn Caller, id: &str) -> String {
    let Ok(digest) = id.parse::<Sha256Digest>() else {
        return format!("the key {id}");
    };
    // Where the keys cannot be read, the words tell it as well.
    let folder = key_folder(caller.host());
    let own = folder.and_then(|folder| usable_keys(&folder)).unwrap_or_default();
    let own: BTreeMap<Sha256Digest, String> =
        own.into_iter().map(|key| (key.public.id(), key.name)).collect();
    let asked = noted_keys(caller).unwrap_or_default();
    let browser = asked.into_iter().find(|asked| asked.key.id() == digest).map(|asked| asked.name);
    named_key(&digest, own.get(&digest).map(String::as_str), browser.as_deref())
}

fn named_key(digest: &Sha256Digest, own: Option<&str>, browser: Option<&str>) -> String {
    let short = digest.short();
    match (own, browser) {
        (Some(name), _) => format!("your key `{name}` ({short})"),
        (None, Some(name)) => format!("the key {} of {name} ({short})", key_words(digest)),
        (None, None) => format!("the key {} ({short})", key_words(digest)),
    }
}

#[cfg(test)]
mod tests {
    use super::named_key;
    use wf_base::digest::Sha256Digest;
    use wf_sign::key_words;

    #[test]
    fn a_key_is_named_as_people_know_it_with_its_digest_beside_it() {
        let digest = Sha256Digest::of_bytes(b"a key");
        let (short, words) = (digest.short(), key_words(&digest));
        assert_eq!(named_key(&digest, Some("ada"), Some("x")), format!("your key `ada` ({short})"));
        let browser = named_key(&digest, None, Some("ada · Safari on iPhone"));
        assert_eq!(browser, format!("the key {words} of ada · Safari on iPhone ({short})"));
        assert_eq!(named_key(&digest, None, None), format!("the key {words} ({short})"));
    }
}
