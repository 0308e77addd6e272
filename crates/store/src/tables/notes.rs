//! The notes of memory, and their index of words.
//!
//! The index is a temporary table of the connection searching, built from the notes as the log yields them. So
//! nothing in the files can hide a note or show another, and a note that is forgotten leaves no word behind.

use rusqlite::Connection;

use crate::{
    column::{JsonColumn, MomentColumn, RowColumns},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket},
    error::StoreError,
    query,
    tables::memory::MemoryTable,
};
use wf_base::time::Moment;
use wf_core::memory::{MemoryNote, NoteMatch, NoteQuery, StepDecision, prefer};

/// The index: of a text also the stems of its words, of a tag only the whole.
const INDEX: &str = "DROP TABLE IF EXISTS temp.note_words;
     CREATE VIRTUAL TABLE temp.note_words USING fts5(
         id UNINDEXED, text, tags, tokenize = 'porter unicode61 tokenchars ''_-''');
     INSERT INTO temp.note_words (id, text, tags)
         SELECT id, note ->> '$.text', (SELECT group_concat(value, ' ') FROM json_each(note, '$.tags')) FROM notes";

/// The number of matches read: ranking chooses among them.
const MATCHES: i64 = 1000;

impl MemoryTable<&Store> {
    /// Adds notes, all or none; returns the number of new ones. A known one stays as it is, so a resumed run may
    /// write the same again.
    pub fn add_notes(self, notes: Vec<MemoryNote>) -> WriteTicket<usize> {
        self.0.row_sql(move |connection| {
            let mut new = 0;
            for note in &notes {
                new += insert(connection, note)?;
            }
            Ok(new)
        })
    }

    /// Counts a decision of people towards the preferences following from it, once.
    pub fn note_decision(self, decision: StepDecision, at: Moment) -> WriteTicket<usize> {
        self.0.row_sql(move |connection| {
            let changed = prefer(&select(connection)?, &decision, at);
            for note in &changed {
                write(connection, "INSERT OR REPLACE", note)?;
            }
            Ok(changed.len())
        })
    }

    /// Replaces a note by one with the same id.
    pub fn replace_note(self, note: MemoryNote) -> WriteTicket<usize> {
        self.0.row_sql(move |connection| write(connection, "INSERT OR REPLACE", &note))
    }
}

impl MemoryTable<&StoreReader> {
    /// Returns all notes, oldest first.
    pub fn notes(self) -> Result<Vec<MemoryNote>, StoreError> {
        self.0.fold_rows()?;
        self.0.query(select)
    }

    /// Returns the notes a query finds, with the weight of its words: without words, all of that part of memory.
    pub fn find_notes(self, query: &NoteQuery) -> Result<Vec<NoteMatch>, StoreError> {
        let mut found = match query.expression() {
            None => self.notes()?.into_iter().map(|note| NoteMatch { note, weight: 0.0 }).collect(),
            Some(words) => {
                self.0.fold_rows()?;
                self.0.query(|connection| matches(connection, &words))?
            }
        };
        found.retain(|one| query.admits(&one.note));
        Ok(found)
    }
}

/// Adds a note unless it is known; returns the number of new ones. One somebody vouches for replaces a claim of a file
/// nobody confirmed.
pub(crate) fn insert(connection: &Connection, note: &MemoryNote) -> rusqlite::Result<usize> {
    let sql = "SELECT note FROM notes WHERE id = ?1";
    let known: Option<MemoryNote> = query::first(connection, sql, [note.id.to_string()], |row| row.json(0))?;
    match known {
        Some(known) if known.is_claim() && known.confirmed.is_none() && !note.is_claim() => {
            write(connection, "INSERT OR REPLACE", note)
        }
        Some(_) => Ok(0),
        None => write(connection, "INSERT", note),
    }
}

fn write(connection: &Connection, verb: &str, note: &MemoryNote) -> rusqlite::Result<usize> {
    let sql = format!("{verb} INTO notes (id, created, note) VALUES (?1, ?2, ?3)");
    let values = (note.id.to_string(), MomentColumn(note.created), JsonColumn(note));
    connection.prepare_cached(&sql)?.execute(values)
}

fn select(connection: &Connection) -> rusqlite::Result<Vec<MemoryNote>> {
    query::all(connection, "SELECT note FROM notes ORDER BY created, id", [], |row| row.json(0))
}

fn matches(connection: &Connection, words: &str) -> rusqlite::Result<Vec<NoteMatch>> {
    connection.execute_batch(INDEX)?;
    let sql = "SELECT note, -bm25(note_words) FROM temp.note_words JOIN notes USING (id)
               WHERE note_words MATCH ?1 ORDER BY bm25(note_words), id LIMIT ?2";
    let mut statement = connection.prepare(sql)?;
    let found = statement
        .query_map((words, MATCHES), |row| Ok(NoteMatch { note: row.json(0)?, weight: row.get(1)? }))?;
    found.collect()
}
