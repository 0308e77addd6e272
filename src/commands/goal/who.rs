use wf_app::Host;
use wf_app::keys::{OwnKey, choose_signing_key, key_folder};

/// The author of a statement, by the key that would sign for them. A user without a key, or with
/// several and no usual one, stays anonymous; nothing is signed.
pub fn author(host: &Host) -> Option<OwnKey> {
    choose_signing_key(host, &key_folder(host).ok()?, None).ok()?
}
