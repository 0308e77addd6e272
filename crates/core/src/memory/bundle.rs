use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BadNote, Megram, MemoryNote};
use wf_base::{digest::Sha256Digest, time::Moment};

/// The version of the format of a bundle.
const BUNDLE: u32 = 1;

/// Everything that memory has, as it moves from one workspace to another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryBundle {
    /// The megrams, oldest first.
    pub megrams: Vec<Megram>,
    /// The notes, oldest first.
    pub notes: Vec<MemoryNote>,
}

/// The first line of a bundle (Silas 6.5).
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BundleHeader {
    bundle_version: u32,
    exported_at: Moment,
}

/// A line that is neither a megram nor a note, or contradicts another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {cause}")]
pub struct BadBundleLine {
    pub line: usize,
    pub cause: BundleEntryError,
}

/// The reason why a line is no entry of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleEntryError {
    /// It is not of the form of an entry; the message names no line.
    #[error("{0}")]
    Form(String),
    #[error("`bundle_version` is {0}; this version of wf reads {BUNDLE}")]
    Version(u32),
    #[error(transparent)]
    Note(#[from] BadNote),
    /// Another note has its id.
    #[error("duplicate note id {}", .0.short())]
    DuplicateNote(Sha256Digest),
    /// Another megram has its id.
    #[error("duplicate megram id {}", .0.short())]
    DuplicateMegram(Sha256Digest),
}

impl From<serde_json::Error> for BundleEntryError {
    fn from(error: serde_json::Error) -> Self {
        // Each line is read by itself, so that it is always the first one.
        let text = error.to_string();
        Self::Form(match text.rsplit_once(" at line 1 ") {
            Some((cause, column)) => format!("{cause}, at {column}"),
            None => text,
        })
    }
}

/// Writes a bundle: a header, then one JSON object a line.
pub fn write_bundle(bundle: &MemoryBundle, now: Moment) -> String {
    let line = |value: Result<String, serde_json::Error>| value.unwrap_or_default() + "\n";
    let header = BundleHeader { bundle_version: BUNDLE, exported_at: now };
    let mut text = line(serde_json::to_string(&header));
    text.extend(bundle.megrams.iter().map(|megram| line(serde_json::to_string(megram))));
    text.extend(bundle.notes.iter().map(|note| line(serde_json::to_string(note))));
    text
}

/// Reads a bundle. The header may be left out, empty lines are skipped, and what is there twice is returned once. A
/// megram or a note with the id of another one, also of one known, but another content is refused.
pub fn read_bundle(text: &str, known_bundle: &MemoryBundle) -> Result<MemoryBundle, BadBundleLine> {
    let mut entries = BundleEntries {
        megram_entries: KnownEntries::new(&known_bundle.megrams, |new_megram: &Megram| new_megram.id),
        note_entries: KnownEntries::new(&known_bundle.notes, |new_note: &MemoryNote| new_note.id),
    };
    for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        entries.add_line(text).map_err(|cause| BadBundleLine { line, cause })?;
    }
    let mut bundle =
        MemoryBundle { megrams: entries.megram_entries.read(), notes: entries.note_entries.read() };
    bundle.megrams.sort_by_key(|megram| (megram.created, megram.id));
    bundle.notes.sort_by_key(|note| (note.created, note.id));
    Ok(bundle)
}

/// The entries of a bundle while it is read.
struct BundleEntries {
    megram_entries: KnownEntries<Megram>,
    note_entries: KnownEntries<MemoryNote>,
}

impl BundleEntries {
    fn add_line(&mut self, line: &str) -> Result<(), BundleEntryError> {
        let value: Value = serde_json::from_str(line)?;
        if value.get("bundle_version").is_some() {
            let BundleHeader { bundle_version, .. } = serde_json::from_str(line)?;
            return if bundle_version == BUNDLE {
                Ok(())
            } else {
                Err(BundleEntryError::Version(bundle_version))
            };
        }
        if value.get("text").is_some() {
            let note: MemoryNote = serde_json::from_str(line)?;
            return self
                .note_entries
                .add(note.validate()?, MemoryNote::is_same)
                .map_err(BundleEntryError::DuplicateNote);
        }
        let megram: Megram = serde_json::from_str(line)?;
        let is_same = |known_megram: &Megram, one: &Megram| {
            known_megram.same_origin(one) || known_megram.is_claim_of(one)
        };
        self.megram_entries.add(megram, is_same).map_err(BundleEntryError::DuplicateMegram)
    }
}

/// The entries known, and those read.
struct KnownEntries<T> {
    id: fn(&T) -> Sha256Digest,
    seen: BTreeMap<Sha256Digest, T>,
    read: BTreeMap<Sha256Digest, T>,
}

impl<T: Clone> KnownEntries<T> {
    fn new(known: &[T], id: fn(&T) -> Sha256Digest) -> Self {
        let seen = known.iter().map(|one| (id(one), one.clone())).collect();
        Self { id, seen, read: BTreeMap::new() }
    }

    /// Adds an entry; fails with its id if another entry has it.
    fn add(&mut self, one: T, same: fn(&T, &T) -> bool) -> Result<(), Sha256Digest> {
        let id = (self.id)(&one);
        if self.seen.get(&id).is_some_and(|other| !same(other, &one)) {
            return Err(id);
        }
        self.seen.insert(id, one.clone());
        self.read.entry(id).or_insert(one);
        Ok(())
    }

    fn read(self) -> Vec<T> {
        self.read.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{MemoryBundle, read_bundle, write_bundle};
    use crate::memory::{MemoryNote, NoteDraft};
    use wf_base::time::Moment;

    const NOW: Moment = Moment::from_millis(0);

    fn bundle() -> MemoryBundle {
        let draft = NoteDraft {
            text: "tests need the server".into(),
            tags: vec!["ci".into()],
            ..NoteDraft::default()
        };
        let note = MemoryNote::new(draft, "user", false, NOW).unwrap();
        MemoryBundle { megrams: Vec::new(), notes: vec![note] }
    }

    #[test]
    fn an_exported_bundle_reads_as_what_was_exported() {
        let text = write_bundle(&bundle(), NOW);
        let read = read_bundle(&text, &MemoryBundle::default()).unwrap();
        assert_eq!(read, bundle());
        assert_eq!(write_bundle(&read, NOW), text);
        assert_eq!(read_bundle(&text, &bundle()).unwrap(), bundle());
    }

    #[test]
    fn an_altered_note_and_a_newer_format_are_refused_with_their_line() {
        let altered = write_bundle(&bundle(), NOW).replace("server", "client");
        let bad = read_bundle(&altered, &bundle()).unwrap_err();
        assert!(bad.line == 2 && bad.cause.to_string().starts_with("duplicate note id "), "{bad}");
        let newer = "{\"bundle_version\":2,\"exported_at\":\"1970-01-01T00:00:00Z\"}\n";
        let bad = read_bundle(newer, &MemoryBundle::default()).unwrap_err();
        assert_eq!(bad.to_string(), "line 1: `bundle_version` is 2; this version of wf reads 1");
    }
}
