use crate::cli::Ui;
use crate::cli::keys::{OwnKey, choose, keys};

/// Who says something: by the key that would sign for them. Who has none, or several and none that
/// is the usual one, says it without a name; nothing is signed.
pub fn who(ui: &Ui) -> Option<OwnKey> {
    choose(ui, &keys(ui).ok()?, None).ok()?
}
