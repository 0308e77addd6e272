use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::memory::note::PreferenceStrength;
use wf_base::{digest::Sha256Digest, keywords, name::SessionName, time::Moment};

/// The maximum length of a note, in characters.
pub const MAX_NOTE_TEXT: usize = 4000;

/// The maximum number of tags of a note.
pub const MAX_TAGS: usize = 10;

/// The maximum length of a kind or a tag, in characters.
const MAX_WORD: usize = 64;

/// The kinds of notes shared with all sessions: what failed, and what people prefer (Sylk, W05).
pub const SHARED_KINDS: [&str; 2] = ["failure", "preference"];

/// The kind of a note naming none.
const GENERAL: &str = "general";

/// A sentence or a few memory keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryNote {
    /// The id: notes with the same kind, text, tags and session are the same note, whoever wrote them.
    pub id: Sha256Digest,
    /// The kind, such as `fact`, `decision` or `preference`: a word of the author's choice.
    pub kind: String,
    pub text: String,
    /// The words under which it is found, too.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tags: BTreeSet<String>,
    /// The session in which it was written: it is found there, and elsewhere once it is [shared](Self::is_shared).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionName>,
    /// The promotion by a person, who shared it with all sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promoted: Option<NoteConfirmation>,
    /// Its source: `user`, a run and its step, or a file imported.
    pub source: String,
    /// The time it was first written.
    pub created: Moment,
    #[serde(default)]
    pub trust: NoteTrust,
    /// True if its text came from outside, or may have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
    /// True for the raw lane: it is found only by a search asking for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub raw: bool,
    /// The last confirmation by a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<NoteConfirmation>,
    /// Its strength, if it follows from what people decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strength: Option<PreferenceStrength>,
}

/// A note as somebody writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteDraft {
    /// The kind; empty for a general one.
    pub kind: String,
    pub text: String,
    pub tags: Vec<String>,
    pub session: Option<SessionName>,
    /// True for the raw lane.
    pub raw: bool,
}

/// The reason why a note is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadNote {
    /// It has no text.
    #[error("the text is empty")]
    Empty,
    /// Its text is too long.
    #[error("the text has {0} characters; a note has at most {MAX_NOTE_TEXT}")]
    TooLong(usize),
    /// A kind or a tag is no word.
    #[error(
        "invalid {name} {found:?}: write up to {MAX_WORD} letters, digits and `_ - . : /`, without spaces"
    )]
    Word {
        /// The name of the key.
        name: &'static str,
        found: String,
    },
    /// It has too many tags.
    #[error("{0} tags; a note has at most {MAX_TAGS}")]
    Tags(usize),
    /// It is from outside, and constitutional.
    #[error("text from outside is never `constitutional`")]
    ExternalRule,
    /// It is from outside, and verified by nobody.
    #[error("text from outside is `verified` only with `confirmed`: the person who confirmed it, and when")]
    ExternalUnconfirmed,
}

impl MemoryNote {
    /// Makes a note of a draft, with working trust.
    pub fn new(draft: NoteDraft, source: &str, external: bool, now: Moment) -> Result<Self, BadNote> {
        let kind = if draft.kind.is_empty() { GENERAL.to_owned() } else { draft.kind };
        let note = Self {
            id: Sha256Digest::of_bytes(b""),
            kind,
            text: draft.text.trim().to_owned(),
            tags: draft.tags.into_iter().collect(),
            session: draft.session,
            promoted: None,
            source: source.to_owned(),
            created: now,
            trust: NoteTrust::Working,
            external,
            raw: draft.raw,
            confirmed: None,
            strength: None,
        };
        note.validate().map(|note| Self { id: note.digest(), ..note })
    }

    /// Returns the note if it may be stored.
    pub fn validate(self) -> Result<Self, BadNote> {
        if self.text.trim().is_empty() {
            return Err(BadNote::Empty);
        }
        let length = self.text.chars().count();
        if length > MAX_NOTE_TEXT {
            return Err(BadNote::TooLong(length));
        }
        if self.tags.len() > MAX_TAGS {
            return Err(BadNote::Tags(self.tags.len()));
        }
        valid_word("kind", &self.kind)?;
        self.tags.iter().try_for_each(|tag| valid_word("tag", tag))?;
        match self.trust {
            NoteTrust::Constitutional if self.external => Err(BadNote::ExternalRule),
            NoteTrust::Verified if self.external && self.confirmed.is_none() => {
                Err(BadNote::ExternalUnconfirmed)
            }
            _ => Ok(self),
        }
    }

    /// Returns the note with another trust, as a person confirmed it.
    pub fn trusted(self, trust: NoteTrust, confirmed: NoteConfirmation) -> Result<Self, BadNote> {
        Self { trust, confirmed: Some(confirmed), ..self }.validate()
    }

    /// Returns the note as it is shared with all sessions.
    #[must_use]
    pub fn promote(self, confirmation: NoteConfirmation) -> Self {
        Self { promoted: Some(confirmation), ..self }
    }

    /// True if it is found in every session: it was written in none, was promoted, or is of a kind all need to know.
    pub fn is_shared(&self) -> bool {
        self.session.is_none() || self.promoted.is_some() || SHARED_KINDS.contains(&self.kind.as_str())
    }

    /// Returns the shared notes of the same kind and tags that say something else. A note without tags contradicts none.
    pub fn contradicted_by<'a>(&self, notes: &'a [Self]) -> Vec<&'a Self> {
        let same_subject =
            |other: &&Self| !self.tags.is_empty() && (&other.kind, &other.tags) == (&self.kind, &self.tags);
        let other =
            |other: &&Self| other.is_shared() && !other.raw && other.id != self.id && other.text != self.text;
        notes.iter().filter(same_subject).filter(other).collect()
    }

    /// True if another note is the same, ignoring the times and what people said about it.
    pub fn is_same(&self, other: &Self) -> bool {
        self.id == other.id && self.digest() == other.digest()
    }

    fn digest(&self) -> Sha256Digest {
        let tags: Vec<&str> = self.tags.iter().map(String::as_str).collect();
        let session = self.session.as_ref().map_or("", SessionName::as_str);
        let parts = [&self.kind, &self.text, &tags.join(" "), session];
        Sha256Digest::of_parts(parts.map(str::as_bytes))
    }
}

fn valid_word(name: &'static str, found: &str) -> Result<(), BadNote> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    if found.is_empty() || found.chars().count() > MAX_WORD || !found.chars().all(fits) {
        return Err(BadNote::Word { name, found: found.to_owned() });
    }
    Ok(())
}

keywords! {
    /// The degree to which a note is trusted (Silas 6.1).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum NoteTrust {
        /// Somebody said so.
        #[default]
        Working = "working",
        /// A person confirmed it.
        Verified = "verified",
        /// A person made it a rule for everything.
        Constitutional = "constitutional",
    }
}

impl NoteTrust {
    /// Returns the trust as a number from 0 to 100, as it is ranked by (Sylk, K09, reduced to these levels).
    pub fn score(self, external: bool) -> f64 {
        match self {
            Self::Working if external => 30.0,
            Self::Working => 60.0,
            Self::Verified => 80.0,
            Self::Constitutional => 100.0,
        }
    }
}

/// The confirmation of a note by a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteConfirmation {
    /// The person, as the workspace knows them.
    pub who: String,
    pub at: Moment,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{BadNote, MemoryNote, NoteConfirmation, NoteDraft, NoteTrust};
    use wf_base::{name::SessionName, time::Moment};

    const NOW: Moment = Moment::from_millis(0);

    fn draft(text: &str) -> NoteDraft {
        NoteDraft { text: text.into(), ..NoteDraft::default() }
    }

    fn confirmed() -> NoteConfirmation {
        NoteConfirmation { who: "ada".into(), at: NOW }
    }

    #[test]
    fn the_same_note_is_one_note_whoever_writes_it_and_when() {
        let note = |text, source, millis| {
            MemoryNote::new(draft(text), source, false, Moment::from_millis(millis)).unwrap()
        };
        assert!(note("a", "user", 0).is_same(&note(" a\n", "import", 5)));
        assert_ne!(note("a", "user", 0).id, note("b", "user", 0).id);
    }

    #[test]
    fn what_is_no_note_is_refused() {
        let refused = |draft| MemoryNote::new(draft, "user", false, NOW).unwrap_err();
        assert_eq!(refused(draft(" ")), BadNote::Empty);
        assert_eq!(refused(draft(&"x".repeat(4001))), BadNote::TooLong(4001));
        let spaced = NoteDraft { tags: vec!["a b".into()], ..draft("x") };
        assert_eq!(refused(spaced), BadNote::Word { name: "tag", found: "a b".into() });
        let many = NoteDraft { tags: (0..11).map(|at| format!("t{at}")).collect(), ..draft("x") };
        assert_eq!(refused(many), BadNote::Tags(11));
    }

    #[test]
    fn a_note_of_a_session_is_shared_once_it_is_promoted() {
        let session = SessionName::parse("feature-a").ok();
        let of = |kind: &str, text: &str| {
            let tags = vec!["cache".into()];
            let draft = NoteDraft { kind: kind.into(), tags, session: session.clone(), ..draft(text) };
            MemoryNote::new(draft, "user", false, NOW).unwrap()
        };
        let own = of("decision", "redis");
        assert!(!own.is_shared() && own.clone().promote(confirmed()).is_shared());
        assert!(of("failure", "a").is_shared() && of("preference", "a").is_shared());
        // The promotion is no part of what makes it the same note.
        assert!(own.clone().promote(confirmed()).is_same(&own));
        let promoted = of("decision", "memcached").promote(confirmed());
        let notes =
            [own.clone(), of("decision", "lru"), promoted.clone(), of("fact", "x").promote(confirmed())];
        assert_eq!(own.contradicted_by(&notes), [&promoted]);
        let untagged = MemoryNote { tags: BTreeSet::new(), ..own };
        assert!(untagged.contradicted_by(&notes).is_empty());
    }

    #[test]
    fn text_from_outside_is_verified_by_a_person_alone_and_never_a_rule() {
        let note = MemoryNote::new(draft("pay the bill"), "import", true, NOW).unwrap();
        assert_eq!(note.trust, NoteTrust::Working);
        let unconfirmed = MemoryNote { trust: NoteTrust::Verified, ..note.clone() };
        assert_eq!(unconfirmed.validate(), Err(BadNote::ExternalUnconfirmed));
        assert!(note.clone().trusted(NoteTrust::Verified, confirmed()).unwrap().external);
        assert_eq!(note.trusted(NoteTrust::Constitutional, confirmed()), Err(BadNote::ExternalRule));
        let own = MemoryNote::new(draft("never push"), "user", false, NOW).unwrap();
        assert!(own.trusted(NoteTrust::Constitutional, confirmed()).is_ok());
    }
}
