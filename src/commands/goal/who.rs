use crate::keys::{OwnKey, choose_signing_key, key_folder};
use wf_app::Host;

/// The author of a statement, by the key that would sign for them. A user without a key, or with
/// several and no usual one, stays anonymous; nothing is signed.
pub fn author(host: &Host) -> Option<OwnKey> {
    choose_signing_key(host, &key_folder(host).ok()?, None).ok()?
}
