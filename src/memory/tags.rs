use std::fmt;

use serde::{Deserialize, Serialize};

/// How many words of an intent are in its slug (artoo v0.8, R2).
const WORDS: usize = 3;

/// The entity of what is not about a target.
const LOCAL: &str = "env:local";

/// What a megram is about; megrams of the same tags are a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tags {
    /// In which field: `tool:NAME` or `intent:SLUG`.
    pub space: String,
    /// On what: `path:TARGET` or `env:local`.
    pub entity: String,
}

/// A text is not a tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a tag: write KIND:VALUE, like tool:curl, intent:build_the_page, path:api.example or env:local"
)]
pub struct BadTag {
    /// What was given.
    pub text: String,
}

impl Tags {
    /// Takes tags as they are written: each a word of lower-case letters, a colon, and a text.
    pub fn parse(space: &str, entity: &str) -> Result<Self, BadTag> {
        Ok(Self {
            space: tag(space)?,
            entity: tag(entity)?,
        })
    }

    /// What is about a tool and what it was used on.
    pub fn tool(name: &str, target: &str) -> Self {
        Self {
            space: tool_space(name),
            entity: format!("path:{target}"),
        }
    }

    /// What is about how an intent ended; its slug is that of [`Tags::slug`].
    pub fn intent(slug: &str) -> Self {
        Self {
            space: format!("intent:{slug}"),
            entity: LOCAL.into(),
        }
    }

    /// The slug of an intent: its first three words in lower case, joined by `_`.
    pub fn slug(intent: &str) -> String {
        let words = intent
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty());
        let words: Vec<String> = words.take(WORDS).map(str::to_lowercase).collect();
        words.join("_")
    }
}

/// The space of a tool.
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

impl fmt::Display for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.space, self.entity)
    }
}

#[cfg(test)]
mod tests {
    use super::Tags;

    #[test]
    fn tags_are_made_and_read() {
        let tool = Tags::tool("curl", "api.example/v1");
        assert_eq!(tool.to_string(), "tool:curl path:api.example/v1");
        assert_eq!(Tags::parse(&tool.space, &tool.entity), Ok(tool));
        let intent = Tags::intent(&Tags::slug("  Build the page, then publish it"));
        assert_eq!(intent.to_string(), "intent:build_the_page env:local");
        assert_eq!(Tags::parse(&intent.space, &intent.entity), Ok(intent));
        assert_eq!(Tags::slug("Über-großes Ziel"), "über_großes_ziel");
    }

    #[test]
    fn what_is_no_tag_is_refused() {
        for text in ["", "curl", ":curl", "Tool:curl", "to ol:curl"] {
            let refused = Tags::parse(text, "env:local").unwrap_err();
            assert_eq!(refused.text, text);
            assert!(Tags::parse("tool:curl", text).is_err(), "{text}");
        }
    }
}
