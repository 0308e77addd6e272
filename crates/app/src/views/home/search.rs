//! One search over all that a workspace has a page for.

use serde::Serialize;

use crate::{
    Caller, CommandError,
    specs::plans::{SpecSummary, list_specs},
    views::{
        RequestView, SkillListing, StateReader, goal_listings, open_requests, plans::plan_page, run_listings,
        skill_listings, state_reader,
    },
};
use wf_base::{time::Moment, units::moment};
use wf_core::memory::{NoteQuery, NoteScope, rank};
use wf_report::record::RunListing;
use wf_store::RunRow;

/// The most hits of each kind.
const MAX_HITS: usize = 10;

/// The longest text of a search, in characters.
const MAX_TEXT: usize = 200;

/// The result of a search.
#[derive(Debug, Default, Serialize)]
pub struct SearchView {
    pub text: String,
    pub groups: Vec<SearchGroup>,
}

/// The hits of a kind, best first.
#[derive(Debug, Serialize)]
pub struct SearchGroup {
    pub name: &'static str,
    pub hits: Vec<SearchHit>,
    /// True if there are more.
    pub is_cut: bool,
}

/// A thing with a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SearchHit {
    pub title: String,
    /// The address of its page.
    pub page: String,
    /// The words that say which one it is.
    pub detail: String,
    /// The word for its state, if it has one.
    pub state: Option<String>,
    /// The beginning of its id, and its time: they are among the words if another hit has the same title.
    #[serde(skip)]
    pub mark: Option<HitMark>,
}

/// The marks by which people tell two things of the same title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HitMark {
    id: String,
    at: Moment,
}

/// Searches a workspace; nothing is found for an empty text.
pub fn search_view(caller: &dyn Caller, text: &str) -> Result<SearchView, CommandError> {
    let text: String = text.trim().chars().take(MAX_TEXT).collect();
    if text.is_empty() {
        return Ok(SearchView::default());
    }
    let reader = state_reader(caller)?;
    let mut groups = Vec::new();
    if let Some(reader) = &reader {
        groups.push(SearchGroup::new("Requests", &text, request_hits(reader)?));
        groups.push(SearchGroup::of_found("Runs", run_hits(reader, &text)?));
    }
    groups.push(SearchGroup::new("Plans", &text, plan_hits(caller)));
    groups.push(SearchGroup::new("Goals", &text, goal_hits(caller)?));
    groups.push(SearchGroup::new("Skills", &text, skill_hits(caller)?));
    if let Some(reader) = &reader {
        groups.push(SearchGroup::of_found("Notes", note_hits(caller, reader, &text)?));
    }
    groups.retain(|group| !group.hits.is_empty());
    Ok(SearchView { text, groups })
}

impl SearchGroup {
    /// Chooses the hits with a text: those that begin with it before the others.
    fn new(name: &'static str, text: &str, hits: Vec<SearchHit>) -> Self {
        let text = text.to_lowercase();
        let place = |hit: &SearchHit| {
            let title = hit.title.to_lowercase();
            if title.starts_with(&text) {
                return Some(0);
            }
            let is_found = title.contains(&text) || hit.detail.to_lowercase().contains(&text);
            is_found.then_some(1)
        };
        let mut found: Vec<(u8, SearchHit)> =
            hits.into_iter().filter_map(|hit| Some((place(&hit)?, hit))).collect();
        found.sort_by_key(|(place, _)| *place);
        Self::of_found(name, found.into_iter().map(|(_, hit)| hit).collect())
    }

    fn of_found(name: &'static str, mut hits: Vec<SearchHit>) -> Self {
        let is_cut = hits.len() > MAX_HITS;
        hits.truncate(MAX_HITS);
        let titles: Vec<String> = hits.iter().map(|hit| hit.title.clone()).collect();
        for hit in &mut hits {
            let is_alone = titles.iter().filter(|title| **title == hit.title).count() == 1;
            if let Some(HitMark { id, at }) = hit.mark.as_ref().filter(|_| !is_alone) {
                let mark = format!("{id} · {} UTC", moment(*at));
                hit.detail = if hit.detail.is_empty() { mark } else { format!("{} · {mark}", hit.detail) };
            }
        }
        Self { name, hits, is_cut }
    }
}

fn request_hits(reader: &StateReader) -> Result<Vec<SearchHit>, CommandError> {
    let hit = |request: RequestView| SearchHit {
        title: request.ask.message.clone(),
        page: format!("/inbox/{}/{}", request.run, request.number),
        detail: format!("{} {}", request.plan, request.name),
        state: Some("waiting".to_owned()),
        mark: Some(HitMark { id: request.run.short().to_owned(), at: request.ask.since }),
    };
    Ok(open_requests(reader)?.into_iter().map(hit).collect())
}

fn run_hits(reader: &StateReader, text: &str) -> Result<Vec<SearchHit>, CommandError> {
    let found = run_listings(reader, reader.store().runs().search(text, MAX_HITS + 1)?)?;
    let hit = |listing: &RunListing| SearchHit {
        title: format!("{} {}", listing.row.plan, listing.row.id.short()),
        page: format!("/runs/{}", listing.row.id),
        detail: run_words(&listing.row),
        state: Some(listing.life().as_str().to_owned()),
        mark: None,
    };
    Ok(found.iter().map(hit).collect())
}

/// Returns the words that tell a run from others of its plan: its reason, and when it began.
fn run_words(row: &RunRow) -> String {
    let began = format!("began {} UTC", moment(row.created));
    match row.reason.lines().next() {
        Some(reason) => format!("{reason} · {began}"),
        None => began,
    }
}

fn plan_hits(caller: &dyn Caller) -> Vec<SearchHit> {
    let plans = list_specs(&caller.host().workspace()).into_iter().filter(|spec| spec.kind != "goal");
    let hit = |spec: SpecSummary| {
        let id = spec.id.unwrap_or_default();
        SearchHit {
            title: spec.title.unwrap_or_else(|| if id.is_empty() { spec.path.clone() } else { id.clone() }),
            page: plan_page(&spec.path),
            detail: format!("{id} {}", spec.path),
            state: (spec.error_count > 0).then(|| "broken".to_owned()),
            mark: None,
        }
    };
    plans.map(hit).collect()
}

fn goal_hits(caller: &dyn Caller) -> Result<Vec<SearchHit>, CommandError> {
    let listings = goal_listings(caller)?;
    let goals = listings.iter().filter_map(|listing| {
        let goal = listing.file.goal.as_ref().ok()?;
        let health = listing.last_row.as_ref().and_then(|row| row.ended.as_ref());
        Some(SearchHit {
            title: goal.title.clone().unwrap_or_else(|| goal.id.to_string()),
            page: format!("/goals/{}", goal.id),
            detail: format!("{} {}", goal.id, listing.file.path),
            state: health.map(|(_, health, _)| health.as_str().to_owned()),
            mark: None,
        })
    });
    Ok(goals.collect())
}

fn skill_hits(caller: &dyn Caller) -> Result<Vec<SearchHit>, CommandError> {
    let hit = |skill: SkillListing| SearchHit {
        page: format!("/skills/{}", skill.name),
        title: skill.name,
        detail: skill.description.unwrap_or(skill.path),
        state: None,
        mark: None,
    };
    Ok(skill_listings(caller)?.into_iter().map(hit).collect())
}

fn note_hits(caller: &dyn Caller, reader: &StateReader, text: &str) -> Result<Vec<SearchHit>, CommandError> {
    let query = NoteQuery { words: text.to_owned(), scope: NoteScope::All, ..NoteQuery::default() };
    let ranked = rank(reader.store().memory().find_notes(&query)?, caller.host().now());
    let hits = ranked.into_iter().take(MAX_HITS + 1).map(|found| SearchHit {
        title: found.note.text.lines().next().unwrap_or_default().to_owned(),
        page: format!("/memory/{}", found.note.id),
        detail: found.note.tags.iter().cloned().collect::<Vec<_>>().join(" "),
        state: None,
        mark: Some(HitMark { id: found.note.id.short(), at: found.note.created }),
    });
    Ok(hits.collect())
}

#[cfg(test)]
mod tests {
    use super::{HitMark, MAX_HITS, SearchGroup, SearchHit};
    use wf_base::time::Moment;

    fn hit(title: &str, detail: &str) -> SearchHit {
        SearchHit { title: title.into(), page: String::new(), detail: detail.into(), state: None, mark: None }
    }

    #[test]
    fn hits_of_equal_titles_are_told_apart_by_their_ids_and_times() {
        let at = Moment::parse("2026-11-23T09:30:00Z").unwrap();
        let marked = |title: &str, detail: &str, id: &str| SearchHit {
            mark: Some(HitMark { id: id.into(), at }),
            ..hit(title, detail)
        };
        let hits = vec![
            marked("Send it?", "mail ask", "1a"),
            marked("Send it?", "", "2b"),
            marked("Sent", "x", "3c"),
        ];
        let details: Vec<String> =
            SearchGroup::new("Requests", "sen", hits).hits.into_iter().map(|hit| hit.detail).collect();
        assert_eq!(details, ["mail ask · 1a · 2026-11-23 09:30:00 UTC", "2b · 2026-11-23 09:30:00 UTC", "x"]);
    }

    #[test]
    fn what_begins_with_the_text_comes_first() {
        let hits =
            vec![hit("a release", ""), hit("other", "the Release"), hit("Release it", ""), hit("no", "")];
        let group = SearchGroup::new("Plans", "rElease", hits);
        let titles: Vec<&str> = group.hits.iter().map(|hit| hit.title.as_str()).collect();
        assert_eq!(titles, ["Release it", "a release", "other"]);
        assert!(!group.is_cut);
    }

    #[test]
    fn a_long_list_says_that_it_is_cut() {
        let group = SearchGroup::new("Plans", "x", vec![hit("x", ""); MAX_HITS + 1]);
        assert_eq!((group.hits.len(), group.is_cut), (MAX_HITS, true));
    }
}
