use crate::{CliExitCode, CommandError, Host};
use wf_base::{
    digest::Sha256Digest,
    name::SessionName,
    remedy::{Remedy, UserAction},
    time::Moment,
};
use wf_core::memory::{
    Megram, MegramLevel, MegramTags, MemoryBundle, MemoryNote, NoteQuery, NoteScope, RankedNote, rank,
};
use wf_store::{MegramSelection, StoreReader, allow_no_state};

/// The memory of a workspace, as a person reads it; empty where there is no state.
pub struct MemoryReader(Option<StoreReader>);

/// A search of notes.
#[derive(Clone, Debug, Default)]
pub struct NoteSearch {
    pub words: String,
    pub kind: Option<String>,
    pub tag: Option<String>,
    /// The only session with notes to search; `None`: the notes for an agent here.
    pub session: Option<SessionName>,
    /// True if the notes of all sessions are searched.
    pub all_sessions: bool,
    /// True if the raw lane is searched instead.
    pub raw: bool,
}

impl MemoryReader {
    /// Opens the state of the workspace.
    pub fn open(host: &Host) -> Result<Self, CommandError> {
        Ok(Self(allow_no_state(StoreReader::open(&host.workspace().state))?))
    }

    fn megrams(&self, selection: &MegramSelection) -> Result<Vec<Megram>, CommandError> {
        Ok(self.0.as_ref().map_or_else(|| Ok(Vec::new()), |reader| reader.memory().megrams(selection))?)
    }

    /// Returns all megrams, oldest first.
    pub fn all(&self) -> Result<Vec<Megram>, CommandError> {
        self.megrams(&MegramSelection::All)
    }

    /// Returns the megrams of a level.
    pub fn of_level(&self, level: MegramLevel) -> Result<Vec<Megram>, CommandError> {
        self.megrams(&MegramSelection::Level(level))
    }

    /// Returns the megrams in a space.
    pub fn of_space(&self, space: &str) -> Result<Vec<Megram>, CommandError> {
        self.megrams(&MegramSelection::Space(space.to_owned()))
    }

    /// Returns the megrams of a cluster.
    pub fn of_cluster(&self, tags: MegramTags) -> Result<Vec<Megram>, CommandError> {
        self.megrams(&MegramSelection::Cluster(tags))
    }

    /// Returns all notes.
    pub fn notes(&self) -> Result<Vec<MemoryNote>, CommandError> {
        Ok(self.0.as_ref().map_or_else(|| Ok(Vec::new()), |reader| reader.memory().notes())?)
    }

    /// Returns everything.
    pub fn bundle(&self) -> Result<MemoryBundle, CommandError> {
        Ok(MemoryBundle { megrams: self.all()?, notes: self.notes()? })
    }

    /// Searches notes; returns them best first.
    pub fn search(&self, search: &NoteSearch, now: Moment) -> Result<Vec<RankedNote>, CommandError> {
        let Some(reader) = &self.0 else {
            return Ok(Vec::new());
        };
        let scope = match &search.session {
            Some(name) => NoteScope::Only(reader.sessions().get(name)?.name),
            None if search.all_sessions => NoteScope::All,
            None => NoteScope::of(reader.sessions().current()?.map(|session| session.name)),
        };
        let query = NoteQuery {
            words: search.words.clone(),
            kind: search.kind.clone(),
            tag: search.tag.clone(),
            scope,
            raw: search.raw,
        };
        Ok(rank(reader.memory().find_notes(&query)?, now))
    }

    /// Returns the megram with an id beginning with this.
    pub fn find_megram(&self, start: &str) -> Result<Megram, CommandError> {
        let megrams = self.megrams_from(start)?;
        only_one(megrams, |megram| megram.id)
            .map_err(|ids| not_one("megram", &[UserAction::ListMegrams], start, &ids))
    }

    /// Returns the note with an id beginning with this.
    pub fn find_note(&self, start: &str) -> Result<MemoryNote, CommandError> {
        let notes = self.notes_from(start)?;
        only_one(notes, |note| note.id)
            .map_err(|ids| not_one("note", &[UserAction::SearchNotes], start, &ids))
    }

    /// Returns the megram or the note with an id beginning with this.
    pub fn find_entry(&self, start: &str) -> Result<MemoryBundle, CommandError> {
        let bundle = MemoryBundle { megrams: self.megrams_from(start)?, notes: self.notes_from(start)? };
        let ids =
            bundle.megrams.iter().map(|megram| megram.id).chain(bundle.notes.iter().map(|note| note.id));
        let ids: Vec<String> = ids.map(|id| id.short()).collect();
        let listing = [UserAction::ListMegrams, UserAction::SearchNotes];
        if ids.len() == 1 { Ok(bundle) } else { Err(not_one("memory record", &listing, start, &ids)) }
    }

    fn megrams_from(&self, start: &str) -> Result<Vec<Megram>, CommandError> {
        if start.is_empty() { Ok(Vec::new()) } else { self.megrams(&MegramSelection::Id(start.into())) }
    }

    fn notes_from(&self, start: &str) -> Result<Vec<MemoryNote>, CommandError> {
        let mut notes = self.notes()?;
        notes.retain(|note| !start.is_empty() && note.id.to_string().starts_with(start));
        Ok(notes)
    }
}

/// Returns the only entry; fails with the ids of all of them.
fn only_one<T>(mut entries: Vec<T>, id: fn(&T) -> Sha256Digest) -> Result<T, Vec<String>> {
    let ids = entries.iter().map(|entry| id(entry).short()).collect();
    let last = entries.pop();
    if entries.is_empty() { last.ok_or(ids) } else { Err(ids) }
}

fn not_one(kind: &str, listings: &[UserAction], start: &str, ids: &[String]) -> CommandError {
    if ids.is_empty() {
        let message = format!("no {kind} has the id `{start}`");
        let remedy =
            listings.iter().enumerate().fold(Remedy::from("for their ids: "), |remedy, (index, action)| {
                let remedy = if index > 0 { remedy.text(", ") } else { remedy };
                remedy.action(action.clone())
            });
        return CommandError::new(CliExitCode::Usage, message).hint(remedy);
    }
    let message = format!("`{start}` is ambiguous: it matches {} {kind}s", ids.len());
    let hint = format!("use more digits; it matches {}", ids.join(", "));
    CommandError::new(CliExitCode::Usage, message).hint(hint)
}
