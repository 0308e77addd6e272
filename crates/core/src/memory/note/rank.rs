use std::cmp::Ordering;

use serde::Serialize;

use super::{MemoryNote, NoteTrust};
use wf_base::{name::SessionName, time::Moment};

/// The age at which a note has lost all freshness it can lose, in days (Sylk, K10).
pub const FRESHNESS_DAYS: f64 = 180.0;

/// The freshness left of the oldest note.
const STALE: f64 = 0.2;

/// The quality below which a note is not found (Sylk, K12).
pub const QUALITY_FLOOR: f64 = 0.3;

/// The milliseconds of a day.
const DAY: f64 = 86_400_000.0;

/// A search of notes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteQuery {
    /// The words, of which a note must have one; empty: every note.
    pub words: String,
    /// Only notes of this kind.
    pub kind: Option<String>,
    /// Only notes with this tag.
    pub tag: Option<String>,
    /// The sessions whose notes are searched.
    pub scope: NoteScope,
    /// True to search the raw lane, instead of all others.
    pub raw: bool,
}

/// The notes searched, by their sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NoteScope {
    /// The notes shared.
    #[default]
    Shared,
    /// The notes of a session, and those shared.
    Within(SessionName),
    /// The notes of a session.
    Only(SessionName),
    /// All notes.
    All,
}

impl NoteScope {
    /// Returns the notes found in a session; `None`: outside of all of them.
    pub fn of(session: Option<SessionName>) -> Self {
        session.map_or(Self::Shared, Self::Within)
    }

    fn admits(&self, note: &MemoryNote) -> bool {
        match self {
            Self::All => true,
            Self::Shared => note.is_shared(),
            Self::Within(session) => note.is_shared() || note.session.as_ref() == Some(session),
            Self::Only(session) => note.session.as_ref() == Some(session),
        }
    }
}

/// A note with words of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct NoteMatch {
    pub note: MemoryNote,
    /// The weight of the words in it, as the index computes it: 0 or more.
    pub weight: f64,
}

/// A note found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankedNote {
    pub note: MemoryNote,
    /// Its rank among those found.
    pub rank: NoteRank,
}

/// The quality of a match, with the terms it is the sum of (Sylk, K12).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NoteRank {
    /// The weight of the words, as a share of that of the best match.
    pub similarity: f64,
    /// The trust, from 0 to 100.
    pub trust: f64,
    /// The freshness, from 0.2 to 1.
    pub freshness: f64,
    /// 1 if a person confirmed it, else 0.
    pub verified: f64,
    /// `0.35·similarity + 0.25·trust/100 + 0.25·freshness + 0.15·verified`.
    pub quality: f64,
}

impl NoteQuery {
    /// True if a note is in the part of memory searched.
    pub fn admits(&self, note: &MemoryNote) -> bool {
        note.raw == self.raw
            && self.kind.as_ref().is_none_or(|kind| *kind == note.kind)
            && self.scope.admits(note)
            && self.tag.as_ref().is_none_or(|tag| note.tags.contains(tag))
    }

    /// Returns the words for the index: any of them, each quoted, so none is an operator; `None` if there are none.
    pub fn expression(&self) -> Option<String> {
        let parts = self.words.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'));
        let words: Vec<String> =
            parts.filter(|word| !word.is_empty()).map(|word| format!("\"{word}\"")).collect();
        (!words.is_empty()).then(|| words.join(" OR "))
    }
}

/// Ranks matches, best first; those below the floor are left out.
pub fn rank(matches: Vec<NoteMatch>, now: Moment) -> Vec<RankedNote> {
    let best = matches.iter().map(|one| one.weight).fold(0.0, f64::max);
    let mut ranked: Vec<RankedNote> = matches
        .into_iter()
        .map(|NoteMatch { note, weight }| {
            let similarity = if best > 0.0 { weight / best } else { 1.0 };
            let rank = NoteRank::of(&note, similarity, now);
            RankedNote { note, rank }
        })
        .filter(|one| one.rank.quality >= QUALITY_FLOOR)
        .collect();
    ranked.sort_by(|one, other| {
        let better = other.rank.quality.partial_cmp(&one.rank.quality).unwrap_or(Ordering::Equal);
        better.then(other.note.created.cmp(&one.note.created)).then(one.note.id.cmp(&other.note.id))
    });
    ranked
}

impl NoteRank {
    fn of(note: &MemoryNote, similarity: f64, now: Moment) -> Self {
        let trust = note.trust.score(note.external);
        let freshness = freshness(note, now);
        let verified = if note.trust >= NoteTrust::Verified { 1.0 } else { 0.0 };
        let quality = 0.35 * similarity + 0.25 * trust / 100.0 + 0.25 * freshness + 0.15 * verified;
        Self { similarity, trust, freshness, verified, quality }
    }
}

/// Returns the freshness of a note: a rule for everything does not age.
#[expect(clippy::cast_precision_loss, reason = "a few milliseconds in thousands of years")]
fn freshness(note: &MemoryNote, now: Moment) -> f64 {
    if note.trust == NoteTrust::Constitutional {
        return 1.0;
    }
    let age = now.millis().saturating_sub(note.created.millis()).max(0);
    (1.0 - age as f64 / DAY / FRESHNESS_DAYS * (1.0 - STALE)).max(STALE)
}

#[cfg(test)]
mod tests {
    use super::{NoteMatch, NoteQuery, NoteScope, rank};
    use crate::memory::note::{MemoryNote, NoteDraft, NoteTrust};
    use wf_base::{name::SessionName, time::Moment};

    const DAY: i64 = 86_400_000;

    fn note(text: &str, day: i64) -> MemoryNote {
        let draft = NoteDraft { text: text.into(), ..NoteDraft::default() };
        MemoryNote::new(draft, "user", false, Moment::from_millis(day * DAY)).unwrap()
    }

    #[test]
    fn quality_is_the_sum_of_its_terms() {
        let now = Moment::from_millis(90 * DAY);
        let verified = MemoryNote { trust: NoteTrust::Verified, ..note("old and sure", 0) };
        let external = MemoryNote { external: true, ..note("new and doubtful", 90) };
        let matches = vec![
            NoteMatch { note: external.clone(), weight: 4.0 },
            NoteMatch { note: verified.clone(), weight: 2.0 },
        ];
        let ranked = rank(matches, now);
        assert_eq!(ranked[0].note, external);
        let first = ranked[0].rank;
        assert_eq!((first.similarity, first.trust, first.freshness, first.verified), (1.0, 30.0, 1.0, 0.0));
        assert!((first.quality - 0.675).abs() < 1e-9, "{first:?}");
        let second = ranked[1].rank;
        assert_eq!(
            (second.similarity, second.trust, second.freshness, second.verified),
            (0.5, 80.0, 0.6, 1.0)
        );
        assert!((second.quality - 0.675).abs() < 1e-9, "{second:?}");
    }

    #[test]
    fn a_weak_match_of_what_is_old_and_doubtful_is_left_out() {
        let old = MemoryNote { external: true, ..note("x", 0) };
        let matches =
            vec![NoteMatch { note: old, weight: 0.1 }, NoteMatch { note: note("y", 365), weight: 9.0 }];
        let ranked = rank(matches, Moment::from_millis(365 * DAY));
        assert_eq!(ranked.len(), 1);
    }

    #[test]
    fn no_word_of_a_query_is_an_operator() {
        let expression = |words: &str| NoteQuery { words: words.into(), ..NoteQuery::default() }.expression();
        assert_eq!(expression("near AND \"b*\" c_d-e").unwrap(), r#""near" OR "AND" OR "b" OR "c_d-e""#);
        assert_eq!(expression("?! \""), None);
    }

    #[test]
    fn the_raw_lane_is_apart() {
        let raw = MemoryNote { raw: true, ..note("x", 0) };
        assert!(!NoteQuery::default().admits(&raw) && NoteQuery::default().admits(&note("x", 0)));
        let lane = NoteQuery { raw: true, ..NoteQuery::default() };
        assert!(lane.admits(&raw) && !lane.admits(&note("x", 0)));
    }

    #[test]
    fn a_session_sees_its_own_notes_and_those_that_are_shared() {
        let session = |name: &str| SessionName::parse(name).unwrap();
        let of = |name: &str| MemoryNote { session: Some(session(name)), ..note("x", 0) };
        let found = |scope: NoteScope| {
            let query = NoteQuery { scope, ..NoteQuery::default() };
            [note("x", 0), of("a"), of("b")].map(|note| query.admits(&note))
        };
        assert_eq!(found(NoteScope::of(None)), [true, false, false]);
        assert_eq!(found(NoteScope::of(Some(session("a")))), [true, true, false]);
        assert_eq!(found(NoteScope::Only(session("b"))), [false, false, true]);
        assert_eq!(found(NoteScope::All), [true, true, true]);
    }
}
