use std::{collections::BTreeSet, fmt::Write as _};

use super::{Megram, MegramLevel, RankedNote};
use wf_base::time::Moment;

/// The number of entries of an answer, if the query names none.
const USUAL_ENTRIES: usize = 10;

/// The maximum number of entries of an answer.
pub const MAX_FOUND: u64 = 50;

/// A query of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryQuery {
    /// The words to look for, in any order.
    pub text: String,
    /// The maximum number of entries.
    pub limit: Option<u64>,
}

/// The answer of memory to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryFindings {
    /// The entries, best first, as text for a model.
    pub text: String,
    /// True if one of them may be from outside.
    pub is_external: bool,
}

impl MemoryFindings {
    /// Adds the findings of another search.
    pub fn append(&mut self, other: &Self) {
        self.is_external |= other.is_external;
        let _ = write!(self.text, "\n{}", other.text);
    }
}

/// Describes the notes a query found, best first.
pub fn describe_notes(ranked_notes: &[RankedNote], query: &MemoryQuery) -> MemoryFindings {
    let limit = limit(query);
    let mut text = format!("{} of {} notes found", ranked_notes.len().min(limit), ranked_notes.len());
    let mut is_external = false;
    for RankedNote { note, .. } in ranked_notes.iter().take(limit) {
        is_external |= note.external;
        let taint = if note.external { "external" } else { "none" };
        let (day, kind, trust) = (day(note.created), &note.kind, note.trust);
        let tags = if note.tags.is_empty() { String::new() } else { format!(", tags {}", join(&note.tags)) };
        let words = one_line(&note.text);
        let _ = write!(text, "\n- {day} {kind}{tags}, trust {trust}, taint {taint}: {words}");
    }
    MemoryFindings { text, is_external }
}

fn join(tags: &BTreeSet<String>) -> String {
    tags.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn limit(query: &MemoryQuery) -> usize {
    query.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(USUAL_ENTRIES)
}

/// Returns the day of an instant, in UTC.
fn day(at: Moment) -> String {
    at.to_string().chars().take(10).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Searches memory: an entry is found if it has one of the words. Those with more of them come first, then newer ones; claims
/// of files come last.
pub fn search(megrams: &[Megram], query: &MemoryQuery) -> MemoryFindings {
    let wanted = words(&query.text);
    let mut found: Vec<(usize, &Megram)> = megrams.iter().map(|one| (overlap(&wanted, one), one)).collect();
    found.retain(|(count, _)| *count > 0);
    found.sort_by(|(count, one), (others, other)| {
        let claims = is_claim(one).cmp(&is_claim(other));
        claims.then(others.cmp(count)).then(other.created.cmp(&one.created)).then(one.id.cmp(&other.id))
    });
    let limit = limit(query);
    let mut text = format!("{} of {} entries found", found.len().min(limit), found.len());
    let mut is_external = false;
    for (_, one) in found.iter().take(limit) {
        let external = is_external_level(one.level);
        is_external |= external;
        let taint = if external { "external" } else { "none" };
        let (trust, state) = (trust(one.level), one.state.as_str());
        let (day, content) = (day(one.created), one_line(&one.content));
        let (space, entity) = (&one.tags.space, &one.tags.entity);
        let _ = write!(text, "\n- {day} {state}, {space} {entity}, trust {trust}, taint {taint}: {content}");
    }
    MemoryFindings { text, is_external }
}

/// Returns the number of the words that an entry has.
fn overlap(wanted: &BTreeSet<String>, megram: &Megram) -> usize {
    let own = words(&format!("{} {} {}", megram.content, megram.tags.space, megram.tags.entity));
    wanted.intersection(&own).count()
}

/// Returns the words of a text, in lower case.
fn words(text: &str) -> BTreeSet<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'));
    parts.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

fn is_claim(megram: &Megram) -> bool {
    megram.level == MegramLevel::Claim
}

/// Returns the trust in an entry (Silas 6).
fn trust(level: MegramLevel) -> &'static str {
    match level {
        MegramLevel::Megram | MegramLevel::Knowledge | MegramLevel::Claim => "working",
        MegramLevel::CommonSense => "verified",
        MegramLevel::Thinking => "constitutional",
    }
}

/// True if entries of a level may be from outside: all but laws, which people write. An entry does not say where its
/// words came from, so text of a model or of an imported file may be in it, and in a rule made of it.
fn is_external_level(level: MegramLevel) -> bool {
    level != MegramLevel::Thinking
}

#[cfg(test)]
mod tests {
    use super::{MemoryFindings, MemoryQuery, search};
    use crate::memory::{Megram, MegramLevel, MegramOrigin, MegramState, MegramTags};
    use wf_base::time::Moment;

    fn megram(day: i64, level: MegramLevel, content: &str) -> Megram {
        let origin = MegramOrigin { at: Moment::from_millis(day * 86_400_000), from: content };
        let tags = MegramTags::tool("curl", "api.example");
        Megram { level, ..Megram::new(MegramState::ChangePath, tags, content.into(), origin) }
    }

    fn found(megrams: &[Megram], text: &str, limit: Option<u64>) -> MemoryFindings {
        search(megrams, &MemoryQuery { text: text.into(), limit })
    }

    #[test]
    fn entries_with_more_of_the_words_come_first_then_newer_ones() {
        let all = [
            megram(1, MegramLevel::Megram, "the build of docs failed"),
            megram(3, MegramLevel::Megram, "the build held"),
            megram(2, MegramLevel::Megram, "The Build was slow"),
            megram(4, MegramLevel::Megram, "nothing of it"),
        ];
        let text = found(&all, "build, docs!", None).text;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "3 of 3 entries found");
        let first = "- 1970-01-02 change_path, tool:curl path:api.example, trust working, taint external: \
                     the build of docs failed";
        assert_eq!(lines[1], first);
        assert!(
            lines[2].ends_with(": the build held") && lines[3].ends_with(": The Build was slow"),
            "{text}"
        );
        assert!(found(&all, "build", Some(1)).text.starts_with("1 of 3 entries found\n"));
        let mut reversed = all.clone();
        reversed.reverse();
        assert_eq!(found(&reversed, "build, docs!", None).text, text);
    }

    #[test]
    fn tags_are_words_too() {
        let all = [megram(1, MegramLevel::Megram, "x")];
        assert_eq!(found(&all, "curl", None).text.lines().count(), 2);
        assert_eq!(
            found(&all, "cur", None),
            MemoryFindings { text: "0 of 0 entries found".into(), is_external: false }
        );
        assert_eq!(found(&all, "?!", None).text, "0 of 0 entries found");
    }

    #[test]
    fn only_what_people_wrote_is_not_from_outside() {
        let law = [megram(1, MegramLevel::Thinking, "never push")];
        let laws = found(&law, "push", None);
        assert!(laws.text.contains("trust constitutional, taint none: never push") && !laws.is_external);
        let rule = [megram(1, MegramLevel::CommonSense, "push works")];
        let rules = found(&rule, "push", None);
        assert!(rules.text.contains("trust verified, taint external") && rules.is_external);
    }
}
