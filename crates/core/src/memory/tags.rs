use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of words of an intent in its slug (artoo v0.8, R2).
const WORDS: usize = 3;

/// The entity of a megram without a target.
const LOCAL: &str = "env:local";

/// The subject of a megram; megrams of the same tags are a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MegramTags {
    /// The space: `tool:NAME` or `intent:SLUG`.
    pub space: String,
    /// The entity: `path:TARGET` or `env:local`.
    pub entity: String,
}

/// A text that is not a tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid tag `{text}`: write KIND:VALUE, like tool:curl, intent:build_the_page, \
     path:api.example or env:local"
)]
pub struct BadTag {
    /// The text.
    pub text: String,
}

impl MegramTags {
    /// Reads tags: each is a word of lower-case letters, a colon, and a text.
    pub fn parse(space: &str, entity: &str) -> Result<Self, BadTag> {
        Ok(Self { space: tag(space)?, entity: tag(entity)? })
    }

    /// Returns the tags of a tool and the target it was used on.
    pub fn tool(name: &str, target: &str) -> Self {
        Self { space: tool_space(name), entity: format!("path:{target}") }
    }

    /// Returns the tags of the outcome of an intent; its slug is that of [`MegramTags::slug`].
    pub fn intent(slug: &str) -> Self {
        Self { space: format!("intent:{slug}"), entity: LOCAL.into() }
    }

    /// Returns the slug of an intent: its first three words in lower case, joined by `_`.
    pub fn slug(intent: &str) -> String {
        let words = intent.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<String> = words.take(WORDS).map(str::to_lowercase).collect();
        words.join("_")
    }
}

/// Returns the space of a tool.
pub(super) fn tool_space(name: &str) -> String {
    format!("tool:{name}")
}

/// Checks the form of a tag.
pub(super) fn tag(text: &str) -> Result<String, BadTag> {
    let kind = text.split_once(':').map_or("", |(kind, _)| kind);
    if !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase()) {
        Ok(text.into())
    } else {
        Err(BadTag { text: text.into() })
    }
}

impl fmt::Display for MegramTags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.space, self.entity)
    }
}

#[cfg(test)]
mod tests {
    use super::MegramTags;

    #[test]
    fn tags_are_made_and_read() {
        let tool = MegramTags::tool("curl", "api.example/v1");
        assert_eq!(tool.to_string(), "tool:curl path:api.example/v1");
        assert_eq!(MegramTags::parse(&tool.space, &tool.entity), Ok(tool));
        let intent = MegramTags::intent(&MegramTags::slug("  Build the page, then publish it"));
        assert_eq!(intent.to_string(), "intent:build_the_page env:local");
        assert_eq!(MegramTags::parse(&intent.space, &intent.entity), Ok(intent));
        assert_eq!(MegramTags::slug("Über-großes Ziel"), "über_großes_ziel");
    }

    #[test]
    fn what_is_no_tag_is_refused() {
        for text in ["", "curl", ":curl", "Tool:curl", "to ol:curl"] {
            let refused = MegramTags::parse(text, "env:local").unwrap_err();
            assert_eq!(refused.text, text);
            assert!(MegramTags::parse("tool:curl", text).is_err(), "{text}");
        }
    }
}
