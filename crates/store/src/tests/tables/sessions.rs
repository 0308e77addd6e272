use crate::{
    NewRun, RunFilter, StateFault, Store, StoreError, examine,
    tests::fixture::{LATER, NOW, attempt, first, new_run, next, open, run_ended, run_id, stranger},
};
use wf_base::name::SessionName;
use wf_core::{
    machine::EventKind,
    session::{SessionChange, SessionRefusal, SessionState},
};

fn name(text: &str) -> SessionName {
    SessionName::parse(text).unwrap()
}

fn of(session: &str) -> NewRun {
    NewRun { session: Some(name(session)), ..new_run("lamp") }
}

fn suspend(store: &Store, session: &str) {
    let change = SessionChange::Suspend { interrupts: false, reason: "bug b".into() };
    store.sessions().change(&name(session), change, LATER).wait().unwrap();
}

#[test]
fn one_session_is_current_and_all_are_as_the_log_yields_them() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.sessions().begin(&name("a"), NOW).wait().unwrap();
    store.sessions().begin(&name("b"), LATER).wait().unwrap();
    let known = store.sessions().begin(&name("a"), LATER).wait().unwrap_err();
    assert_eq!(known, StoreError::Session(SessionRefusal::Known(name("a"))));
    let current = || store.reader().unwrap().sessions().current().unwrap().map(|session| session.name);
    assert_eq!(current(), Some(name("b")));
    store.sessions().change(&name("a"), SessionChange::Enter, LATER).wait().unwrap();
    assert_eq!(current(), Some(name("a")));
    suspend(&store, "a");
    assert_eq!(current(), None);
    assert!(!store.sessions().leave(LATER).wait().unwrap());

    let stored = stranger(dir.path());
    stored.execute("UPDATE main.sessions SET state = 'active', is_current = 1 WHERE name = 'a'", []).unwrap();
    stored.execute("DELETE FROM main.sessions WHERE name = 'b'", []).unwrap();
    let reader = store.reader().unwrap();
    let seen: Vec<SessionState> =
        reader.sessions().all().unwrap().iter().map(|session| session.state).collect();
    assert_eq!(seen, [SessionState::Suspended, SessionState::Active]);
    let faults = examine(&reader).unwrap();
    let of_table =
        |fault: &StateFault| matches!(fault, StateFault::Projection(row) if row.table == "sessions");
    assert!(!faults.is_empty() && faults.iter().all(of_table), "{faults:?}");
    store.rebuild().wait().unwrap();
    assert_eq!(examine(&store.reader().unwrap()).unwrap(), []);
}

#[test]
fn no_run_begins_in_a_session_that_is_not_active() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let unknown = store.append(first(&run_id(1), of("a"), vec![])).wait().unwrap_err();
    assert_eq!(unknown, StoreError::Session(SessionRefusal::Unknown(name("a"))));
    store.sessions().begin(&name("a"), NOW).wait().unwrap();
    store.append(first(&run_id(1), of("a"), vec![])).wait().unwrap();
    suspend(&store, "a");
    let refused = store.append(first(&run_id(2), of("a"), vec![])).wait().unwrap_err();
    assert_eq!(refused, StoreError::Session(SessionRefusal::Suspended(name("a"))));
    // What is under way ends, and so does what a step of it begins.
    let nested = NewRun { parent: Some((run_id(1), "below#1".into())), ..of("a") };
    store.append(first(&run_id(3), nested, vec![run_ended()])).wait().unwrap();
    store.append(next(&run_id(1), vec![EventKind::AttemptStarted(attempt("a", None, 1))])).wait().unwrap();
    store.append(first(&run_id(4), new_run("lamp"), vec![])).wait().unwrap();

    let reader = store.reader().unwrap();
    let listed = |session: Option<SessionName>, nested| {
        let rows = reader.runs().list(9, &RunFilter { session, nested, ..RunFilter::default() }).unwrap();
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(Some(name("a")), true), [run_id(3), run_id(1)]);
    assert_eq!(listed(Some(name("a")), false), [run_id(1)]);
    assert_eq!(listed(None, false), [run_id(4), run_id(1)]);
    store.rebuild().wait().unwrap();
    assert_eq!(listed(Some(name("a")), true), [run_id(3), run_id(1)]);
}
