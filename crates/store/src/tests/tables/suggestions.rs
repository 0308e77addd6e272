use crate::{
    NewRun, SUGGESTION, Store, StoreError, examine,
    tests::fixture::{LATER, first, new_run, next, open, run_ended, run_id},
};
use serde_json::json;
use wf_core::{
    machine::EventKind,
    suggestion::{Suggestion, SuggestionOffer, SuggestionRefusal, SuggestionState},
};
use wf_model::{JsonObject, SuggestionLimits};

/// The end of a run that suggests plans.
fn suggesting(paths: &[&str]) -> EventKind {
    let suggestions = paths.iter().map(|path| Suggestion {
        title: format!("Run {path}"),
        why: String::new(),
        path: (*path).to_owned(),
        params: JsonObject::new(),
    });
    let offer = SuggestionOffer { suggestions: suggestions.collect(), limits: SuggestionLimits::default() };
    let mut end = run_ended();
    let EventKind::RunEnded { offers, .. } = &mut end else {
        panic!("it is an end");
    };
    offers.suggests = Some(Box::new(offer));
    end
}

fn states(store: &Store) -> Vec<(u32, SuggestionState)> {
    let all = store.reader().unwrap().suggestions().list(None).unwrap();
    all.iter().map(|one| (one.number, one.state)).collect()
}

fn started_by(number: u32) -> NewRun {
    NewRun { config: json!({ SUGGESTION: number }), ..new_run("sort") }
}

#[test]
fn what_a_run_suggests_is_kept_with_its_end_and_starts_one_run() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store
        .append(first(&run_id(1), new_run("look"), vec![suggesting(&["a.md", "a.md", "b.md"])]))
        .wait()
        .unwrap();
    assert_eq!(states(&store), [(1, SuggestionState::Pending), (2, SuggestionState::Pending)]);
    store.append(first(&run_id(2), started_by(1), vec![])).wait().unwrap();
    let again = store.append(first(&run_id(3), started_by(1), vec![])).wait().unwrap_err();
    assert_eq!(again, StoreError::Suggestion(SuggestionRefusal::Accepted(1)));
    let unknown = store.append(first(&run_id(3), started_by(9), vec![])).wait().unwrap_err();
    assert_eq!(unknown, StoreError::Suggestion(SuggestionRefusal::Unknown(9)));
    store.suggestions().dismiss(2, LATER).wait().unwrap();
    let accepted = store.reader().unwrap().suggestions().get(1).unwrap();
    assert_eq!(accepted.started, Some(run_id(2)));
    assert_eq!(states(&store), [(1, SuggestionState::Accepted), (2, SuggestionState::Dismissed)]);
    // A refused run leaves nothing, and all that is shown is what the log yields.
    assert!(store.reader().unwrap().runs().get(&run_id(3)).is_err());
    assert_eq!(examine(&store.reader().unwrap()).unwrap(), []);
    store.append(next(&run_id(2), vec![suggesting(&["a.md", "c.md"])])).wait().unwrap();
    assert_eq!(states(&store).last(), Some(&(3, SuggestionState::Pending)));
}
