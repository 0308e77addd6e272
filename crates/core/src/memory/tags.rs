use std::fmt;

use serde::{Deserialize, Serialize};
use wf_base::digest::Sha256Digest;

/// The number of words of an intent in its slug (artoo v0.8, R2).
const WORDS: usize = 3;

/// The maximum number of characters of a slug: in a script without spaces, a word may be a whole text.
const SLUG_CHARS: usize = 100;

/// The entity of a megram without a target.
const LOCAL: &str = "env:local";

/// The entity of a tool used without a target.
const ANY: &str = "path:any";

/// The subject of a megram; megrams of the same tags are a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MegramTags {
    /// The space: `tool:NAME` or `intent:SLUG`.
    pub space: String,
    /// The entity: `path:TARGET`, `intent:SLUG` or `env:local`.
    pub entity: String,
}

/// A text that is not a tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid tag `{text}`: write KIND:VALUE, like tool:curl, intent:build_the_page, \
     path:api.example or env:local"
)]
pub struct BadTag {
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

    /// Returns the tags of a tool as a run used it: on its target; without one, for the intent the plan declares;
    /// without either, on any target.
    pub fn tool_of_run(name: &str, target: Option<&str>, intent: Option<&str>) -> Self {
        let entity = match (target, intent) {
            (Some(target), _) => format!("path:{target}"),
            (None, Some(slug)) => format!("intent:{slug}"),
            (None, None) => ANY.to_owned(),
        };
        Self { space: tool_space(name), entity }
    }

    /// Returns the tool the tags are about, and its target, for a run of an intent; `None` if they are about no
    /// tool, or about one used for another intent.
    pub fn as_tool(&self, intent: Option<&str>) -> Option<(&str, Option<&str>)> {
        let tool = self.space.strip_prefix("tool:")?;
        match self.entity.split_once(':')? {
            ("path", target) => Some((tool, Some(target).filter(|_| self.entity != ANY))),
            ("intent", slug) if intent == Some(slug) => Some((tool, None)),
            _ => None,
        }
    }

    /// Returns the tags of the outcome of an intent; its slug is that of [`MegramTags::slug`].
    pub fn intent(slug: &str) -> Self {
        Self { space: format!("intent:{slug}"), entity: LOCAL.into() }
    }

    /// Returns the slug of an intent: its first three words in lower case, joined by `_`. Where there are more, the
    /// beginning of the digest of all of them follows: intents that begin alike are not one.
    pub fn slug(intent: &str) -> String {
        let words = intent.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(str::to_lowercase).collect();
        let first = words.get(..WORDS.min(words.len())).unwrap_or_default().join("_");
        let mut slug: String = first.chars().take(SLUG_CHARS).collect();
        if words.len() > WORDS || slug.len() < first.len() {
            let all = Sha256Digest::of_bytes(words.join(" ").as_bytes());
            slug = format!("{slug}_{}", all.short());
        }
        slug
    }
}

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
        let intent = MegramTags::intent(&MegramTags::slug("  Build the page"));
        assert_eq!(intent.to_string(), "intent:build_the_page env:local");
        assert_eq!(MegramTags::parse(&intent.space, &intent.entity), Ok(intent));
        assert_eq!(MegramTags::slug("Über-großes Ziel"), "über_großes_ziel");
        assert!(MegramTags::slug(&"語".repeat(200)).chars().count() <= 120);
        assert_eq!(MegramTags::slug("?!"), "");
    }

    #[test]
    fn intents_that_begin_alike_are_not_one() {
        let may = MegramTags::slug("Make a report of May");
        assert!(may.starts_with("make_a_report_"), "{may}");
        assert_ne!(may, MegramTags::slug("Make a report of June"));
        assert_eq!(may, MegramTags::slug("make a report, of may!"));
        assert_ne!(MegramTags::slug(&"語".repeat(200)), MegramTags::slug(&"語".repeat(201)));
    }

    #[test]
    fn a_tool_without_a_target_is_known_by_the_intent_that_its_plan_declares() {
        let report = MegramTags::tool_of_run("approach:first", None, Some("make_a_report"));
        assert_eq!(report.to_string(), "tool:approach:first intent:make_a_report");
        assert_eq!(report.as_tool(Some("make_a_report")), Some(("approach:first", None)));
        assert_eq!(report.as_tool(Some("rename_a_file")), None);
        assert_eq!(report.as_tool(None), None);
        let far = MegramTags::tool_of_run("curl", Some("far"), Some("make_a_report"));
        assert_eq!(far, MegramTags::tool("curl", "far"));
        assert_eq!(far.as_tool(Some("rename_a_file")), Some(("curl", Some("far"))));
        let any = MegramTags::tool_of_run("curl", None, None);
        assert_eq!(any.as_tool(Some("make_a_report")), Some(("curl", None)));
        assert_eq!(MegramTags::intent("make_a_report").as_tool(Some("make_a_report")), None);
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
