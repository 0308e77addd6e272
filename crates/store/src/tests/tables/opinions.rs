use crate::{
    AnswerQuorum, ApprovalAnswer, NewRun, ReconciliationClaim, RepairFeedback, RunState, Store, StoreError,
    WithdrawnApproval,
    projections::rebuild::rebuild,
    tests::fixture::{NOW, first, new_run, next, open, run_ended, run_id, stranger},
};
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::{
    goal::{ApprovalWithdrawal, ReconciliationCause, RepairOpinion},
    machine::{ApprovalPolicy, EventKind, PinnedFile, RunApproval, RunOutcome},
};

fn goal(id: &str) -> PlanId {
    PlanId::parse(id).unwrap()
}

fn claimed(claim: ReconciliationClaim) -> NewRun {
    NewRun { claim: Some(claim), ..new_run("lamp") }
}

/// A reconciliation of a goal: the check run and the repair, by their numbers.
fn cycle(store: &Store, of: &str, look: u8, repair: u8, facts: Vec<EventKind>) {
    let look = run_id(look);
    let claim = ReconciliationClaim::Look {
        goal: goal(of),
        slot: None,
        cause: ReconciliationCause::Person,
        token: None,
        by_backend: false,
    };
    let batch = first(&look, claimed(claim), vec![run_ended()]);
    store.append(batch).wait().unwrap();
    let claim = ReconciliationClaim::Repair { cycle: look, by_backend: false };
    let batch = first(&run_id(repair), claimed(claim), facts);
    store.append(batch).wait().unwrap();
}

fn said(run: u8, opinion: RepairOpinion, note: &str) -> RepairFeedback {
    RepairFeedback {
        run: run_id(run),
        goal: goal("lamp"),
        opinion,
        note: note.into(),
        who: Some("ada".into()),
        at: NOW,
    }
}

fn deny(store: &Store, run: &RunId, verdict: &str) {
    let answer = ApprovalAnswer {
        run: run.clone(),
        number: 1,
        key: Sha256Digest::of_bytes(b"ada"),
        verdict: verdict.into(),
        token: String::new(),
        at: NOW,
        quorum: AnswerQuorum::default(),
    };
    store.approvals().answer(answer).wait().unwrap();
}

#[test]
fn of_two_repairs_of_a_goal_one_begins() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    cycle(&store, "lamp", 1, 2, vec![]);
    cycle(&store, "door", 3, 4, vec![]);
    let look = ReconciliationClaim::Look {
        goal: goal("lamp"),
        slot: None,
        cause: ReconciliationCause::Person,
        token: None,
        by_backend: false,
    };
    let batch = first(&run_id(5), claimed(look), vec![run_ended()]);
    store.append(batch).wait().unwrap();
    let repair = || {
        let claim = ReconciliationClaim::Repair { cycle: run_id(5), by_backend: false };
        store.append(first(&run_id(6), claimed(claim), vec![]))
    };
    let refused = repair().wait();
    assert!(matches!(refused, Err(StoreError::NotOpen(_))), "{refused:?}");
    let database = store.reader().unwrap();
    assert_eq!(database.reconciliations().find(&run_id(5)).unwrap().unwrap().repair, None);
}

#[test]
fn the_last_word_about_a_repair_counts() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    cycle(&store, "lamp", 1, 2, vec![run_ended()]);
    for (opinion, note, is_new) in [
        (RepairOpinion::Corrected, "", true),
        (RepairOpinion::Corrected, "", false),
        (RepairOpinion::Corrected, "reason", true),
        (RepairOpinion::Fine, "reason", true),
        (RepairOpinion::Fine, "reason", false),
    ] {
        let told = store.reconciliations().give_feedback(said(2, opinion, note)).wait().unwrap();
        assert_eq!(told, is_new, "{opinion:?} {note}");
    }
    let found = store.reader().unwrap().reconciliations().repairs(&goal("lamp"), 9).unwrap();
    assert_eq!(found.len(), 1);
    let row = &found[0];
    assert_eq!((&row.run, row.at), (&run_id(2), NOW));
    assert_eq!(row.state, RunState::Ended(RunOutcome::Succeeded));
    assert_eq!(row.feedback, Some(said(2, RepairOpinion::Fine, "reason")));
}

#[test]
fn a_no_to_a_repair_or_below_it_declines_it_and_to_a_look_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for at in 0..5 {
        cycle(&store, "lamp", 2 * at + 1, 2 * at + 2, vec![run_ended()]);
    }
    cycle(&store, "door", 21, 22, vec![]);
    let nested = NewRun { parent: Some((run_id(4), "below#1".into())), ..new_run("below") };
    store.append(first(&run_id(30), nested, vec![])).wait().unwrap();
    deny(&store, &run_id(2), "denied");
    deny(&store, &run_id(30), "denied");
    deny(&store, &run_id(6), "approved");
    deny(&store, &run_id(7), "denied");
    deny(&store, &run_id(10), "denied");
    deny(&store, &run_id(22), "denied");
    store.reconciliations().give_feedback(said(10, RepairOpinion::Fine, "")).wait().unwrap();
    let reader = store.reader().unwrap();
    let told = |goal: &PlanId, limit| -> Vec<_> {
        let rows = reader.reconciliations().repairs(goal, limit).unwrap();
        rows.iter().map(|row| (row.run.clone(), row.opinion())).collect()
    };
    let declined = Some(RepairOpinion::Declined);
    let wanted = [
        (run_id(10), Some(RepairOpinion::Fine)),
        (run_id(8), None),
        (run_id(6), None),
        (run_id(4), declined),
        (run_id(2), declined),
    ];
    assert_eq!(told(&goal("lamp"), 9), wanted);
    assert_eq!(told(&goal("lamp"), 2), wanted[..2]);
    assert_eq!(told(&goal("door"), 9), [(run_id(22), declined)]);
    assert_eq!(told(&goal("none"), 9), []);
    // None of that is rebuilt from events.
    rebuild(&stranger(dir.path())).unwrap();
    assert_eq!(told(&goal("lamp"), 9), wanted);
}

#[test]
fn under_a_withdrawn_approval_nothing_is_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let use_of = |nonce: &str, execution| {
        EventKind::RunApproved(Box::new(RunApproval {
            policy: ApprovalPolicy::Owner,
            token: Sha256Digest::of_bytes(b"token"),
            plan_digest: Sha256Digest::of_bytes(b"plan"),
            by: vec![],
            nonce: nonce.into(),
            execution,
            executions: 9,
            expires: NOW,
            initiator: None,
            skills: Vec::new(),
            pinned_files: vec![PinnedFile::file("lamp.md", Sha256Digest::of_bytes(b"lamp"))],
            products: Vec::new(),
            tree: None,
        }))
    };
    cycle(&store, "lamp", 1, 2, vec![use_of("aa", 1)]);
    let later = Moment::from_millis(NOW.millis() + 1);
    let withdraw = |since| {
        let withdrawn = WithdrawnApproval { nonce: "aa".into(), goal: goal("lamp"), who: None, since };
        store.approvals().withdraw(withdrawn).wait().unwrap()
    };
    assert!(withdraw(NOW).is_some());
    assert!(withdraw(later).is_none(), "once");
    let begin = |number, fact| {
        let batch = first(&run_id(number), new_run("lamp"), vec![fact]);
        store.append(batch).wait()
    };
    assert_eq!(begin(3, use_of("aa", 2)), Err(StoreError::Withdrawn));
    // The backend of a goal began it before it was told.
    let look = ReconciliationClaim::Look {
        goal: goal("door"),
        slot: None,
        cause: ReconciliationCause::Person,
        token: None,
        by_backend: true,
    };
    store.append(first(&run_id(6), claimed(look), vec![run_ended()])).wait().unwrap();
    let there = |execution| {
        let claim = ReconciliationClaim::Repair { cycle: run_id(6), by_backend: true };
        store.append(first(&run_id(7), claimed(claim), vec![use_of("aa", execution)])).wait().map(drop)
    };
    assert_eq!(there(1), Err(StoreError::UsedUp { execution: 1, executions: 9 }));
    assert_eq!(there(2), Ok(()));
    let reader = store.reader().unwrap();
    let unknown = Err(StoreError::UnknownRun(run_id(3)));
    assert_eq!(reader.runs().get(&run_id(3)).map(|_| ()), unknown);
    assert!(begin(4, use_of("bb", 1)).is_ok());
    // Use 0 uses nothing up, and a started run continues.
    assert!(begin(5, use_of("aa", 0)).is_ok());
    let more = next(&run_id(2), vec![run_ended()]);
    assert!(store.append(more).wait().is_ok());
    let nonce = "aa".to_owned();
    let wanted = [ApprovalWithdrawal { nonce, at: NOW }];
    assert_eq!(reader.approvals().withdrawals(&goal("lamp")).unwrap(), wanted);
    assert_eq!(reader.approvals().withdrawals(&goal("door")).unwrap(), []);
}
