use serde::Serialize;
use serde_json::Value;

use super::state_reader;
use crate::{
    Caller, CommandError,
    memory::{ClusterKnowledge, cluster_explanation, cluster_knowledge},
};
use wf_core::memory::{MemoryNote, NoteQuery, NoteScope, RankedNote, rank};
use wf_store::MegramSelection;

/// The most notes and the most clusters of a page.
const PAGE_NOTES: usize = 100;
const PAGE_CLUSTERS: usize = 200;

/// The memory of a workspace: the notes that a search finds, and the advice from outcomes of runs.
#[derive(Debug, Default, Serialize)]
pub struct MemoryView {
    /// The notes of all sessions, best first, as `wf memory search --all --json` has them.
    pub notes: Vec<RankedNote>,
    /// The number of notes that were found.
    pub found: usize,
    /// The clusters of megrams with a word of the search, as `wf memory query --json` has them.
    pub clusters: Vec<MemoryCluster>,
}

/// A cluster of megrams.
#[derive(Debug, Serialize)]
pub struct MemoryCluster {
    /// The id of one of its megrams, which names it.
    pub id: String,
    /// The knowledge about it.
    pub knowledge: Value,
}

/// A record of memory, explained.
#[derive(Debug, Serialize)]
pub struct MemoryItemView {
    /// The note with the terms of its quality, if it is one.
    pub note: Option<RankedNote>,
    /// The cluster of the megram, as `wf memory explain --json` has it, if it is one.
    pub cluster: Option<Value>,
}

/// Searches the memory for words; none of them: everything.
pub fn memory_view(caller: &dyn Caller, words: &str) -> Result<MemoryView, CommandError> {
    let Some(reader) = state_reader(caller)? else {
        return Ok(MemoryView::default());
    };
    let now = caller.host().now();
    let query = NoteQuery { words: words.to_owned(), scope: NoteScope::All, ..NoteQuery::default() };
    let reader = reader.store();
    let mut notes = rank(reader.memory().find_notes(&query)?, now);
    let total = notes.len();
    notes.truncate(PAGE_NOTES);
    let megrams = reader.memory().megrams(&MegramSelection::All)?;
    let all_clusters = cluster_knowledge(&megrams, now);
    let knowledge = all_clusters.iter().filter(|cluster| has_word(cluster, words)).take(PAGE_CLUSTERS);
    let clusters = knowledge.filter_map(|cluster| {
        let named = megrams.iter().find(|megram| megram.tags == *cluster.tags)?;
        Some(MemoryCluster { id: named.id.to_string(), knowledge: cluster.json() })
    });
    Ok(MemoryView { notes, found: total, clusters: clusters.collect() })
}

/// True if the tags of a cluster contain one of the words, in any case of letters.
fn has_word(cluster: &ClusterKnowledge<'_>, words: &str) -> bool {
    let tags = format!("{} {}", cluster.tags.space, cluster.tags.entity).to_lowercase();
    let words = words.to_lowercase();
    let mut words = words.split_whitespace().peekable();
    words.peek().is_none() || words.any(|word| tags.contains(word))
}

/// Explains a record of memory by its id; `None` if there is no such record.
pub fn memory_item_view(caller: &dyn Caller, id: &str) -> Result<Option<MemoryItemView>, CommandError> {
    let Some(reader) = state_reader(caller)? else {
        return Ok(None);
    };
    let now = caller.host().now();
    let reader = reader.store();
    let is_named = |note: &MemoryNote| note.id.to_string() == id;
    let note_query = NoteQuery { scope: NoteScope::All, ..NoteQuery::default() };
    let raw = NoteQuery { raw: true, ..note_query.clone() };
    for query in [note_query, raw] {
        let matches = reader
            .memory()
            .find_notes(&query)?
            .into_iter()
            .filter(|note_match| is_named(&note_match.note))
            .collect();
        if let Some(note) = rank(matches, now).pop() {
            return Ok(Some(MemoryItemView { note: Some(note), cluster: None }));
        }
    }
    let megrams = reader.memory().megrams(&MegramSelection::Id(id.to_owned()))?;
    let Some(megram) = megrams.iter().find(|megram| megram.id.to_string() == id) else {
        return Ok(None);
    };
    let cluster = reader.memory().megrams(&MegramSelection::Cluster(megram.tags.clone()))?;
    Ok(Some(MemoryItemView { note: None, cluster: Some(cluster_explanation(&cluster, now)) }))
}
