use crate::{
    StoreReader,
    tests::fixture::{NOW, open, stranger},
};
use wf_base::time::Moment;
use wf_core::memory::{MemoryNote, NoteConfirmation, NoteDraft, NoteQuery, NoteTrust};

fn note(text: &str, tags: &[&str]) -> MemoryNote {
    let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    let draft = NoteDraft { text: text.into(), tags, ..NoteDraft::default() };
    MemoryNote::new(draft, "user", false, NOW).unwrap()
}

fn found(reader: &StoreReader, words: &str) -> Vec<String> {
    let query = NoteQuery { words: words.into(), ..NoteQuery::default() };
    let mut found = reader.memory().find_notes(&query).unwrap();
    found.sort_by(|one, other| other.weight.total_cmp(&one.weight));
    found.into_iter().map(|one| one.note.text).collect()
}

#[test]
fn notes_are_found_by_the_stems_of_their_words_and_by_their_tags() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let notes = vec![
        note("The mirrors are slow on Mondays", &["net:curl"]),
        note("Prices come from a mirror", &["rates_csv"]),
        note("Nothing of it", &[]),
    ];
    assert_eq!(store.memory().add_notes(notes.clone()).wait().unwrap(), 3);
    assert_eq!(store.memory().add_notes(notes).wait().unwrap(), 0);
    let reader = store.reader().unwrap();
    assert_eq!(found(&reader, "mirror").len(), 2);
    assert_eq!(found(&reader, "slow mirrors")[0], "The mirrors are slow on Mondays");
    assert_eq!(found(&reader, "rates_csv"), ["Prices come from a mirror"]);
    assert_eq!(found(&reader, "rates"), [""; 0]);
    assert_eq!(found(&reader, "\" OR text:* NEAR("), [""; 0]);
    assert_eq!(found(&reader, "").len(), 3);

    // A note that came later is in the index of the same reader.
    store.memory().add_notes(vec![note("A mirrored copy", &[])]).wait().unwrap();
    assert_eq!(found(&reader, "mirror").len(), 3);
}

#[test]
fn a_row_that_the_log_does_not_yield_is_no_note() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.memory().add_notes(vec![note("never push to main", &[])]).wait().unwrap();
    let stored = stranger(dir.path());
    stored.execute("UPDATE main.notes SET note = replace(note, 'never', 'always')", []).unwrap();
    stored.execute("INSERT INTO main.notes SELECT 'x', created, note FROM main.notes", []).unwrap();
    assert_eq!(found(&store.reader().unwrap(), "push"), ["never push to main"]);
}

#[test]
fn trust_is_changed_in_place_and_what_is_forgotten_leaves_no_text() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let own = note("quinces are always included", &[]);
    store.memory().add_notes(vec![own.clone()]).wait().unwrap();
    let confirmed = NoteConfirmation { who: "ada".into(), at: Moment::from_millis(NOW.millis() + 5) };
    let verified = own.trusted(NoteTrust::Verified, confirmed).unwrap();
    assert_eq!(store.memory().replace_note(verified.clone()).wait().unwrap(), 1);
    assert_eq!(store.reader().unwrap().memory().notes().unwrap(), std::slice::from_ref(&verified));
    store.rebuild().wait().unwrap();
    assert_eq!(store.reader().unwrap().memory().notes().unwrap(), std::slice::from_ref(&verified));

    assert_eq!(store.memory().forget(vec![verified.id]).wait().unwrap(), 1);
    assert_eq!(store.scrub(), Ok(true));
    let left = std::fs::read(store.folder().database()).unwrap();
    assert!(!left.windows(7).any(|window| window == b"quinces"), "its text is in no page");
}
