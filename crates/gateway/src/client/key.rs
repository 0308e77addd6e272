use std::fmt;

/// The key of a model. Nothing shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct ModelKey(String);

/// The reason why a text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadModelKey {
    #[error("the key is empty")]
    Empty,
    /// It has a character that a header cannot have.
    #[error("the key has a character that is no visible ASCII character, such as a blank or a line end")]
    Character,
}

impl ModelKey {
    /// Takes a key, which must fit into a header.
    pub fn new(text: impl Into<String>) -> Result<Self, BadModelKey> {
        let text = text.into();
        if text.is_empty() {
            Err(BadModelKey::Empty)
        } else if text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text))
        } else {
            Err(BadModelKey::Character)
        }
    }

    /// Returns the key, for the header.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns a text without the key, which providers quote in messages.
    pub(super) fn mask(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for ModelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ModelKey([key])")
    }
}
