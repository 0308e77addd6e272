use crate::Ui;
use crate::keys::{OwnKey, choose_signing_key, key_folder};

/// The author of a statement, by the key that would sign for them. A user without a key, or with
/// several and no usual one, stays anonymous; nothing is signed.
pub fn author(ui: &Ui) -> Option<OwnKey> {
    choose_signing_key(ui, &key_folder(ui).ok()?, None).ok()?
}
