use crate::{
    AnswerEffect, AnswerQuorum, ApprovalAnswer, StoreError,
    tests::fixture::{NOW, first, new_run, open, run_id},
};
use wf_base::digest::Sha256Digest;

/// The answer of somebody who has seen so many answers before.
fn answer(name: &str, compared: usize) -> ApprovalAnswer {
    ApprovalAnswer {
        run: run_id(1),
        number: 1,
        key: Sha256Digest::of_bytes(name.as_bytes()),
        verdict: "approved".into(),
        token: name.into(),
        at: NOW,
        quorum: AnswerQuorum { compared: Some(compared), ..AnswerQuorum::default() },
    }
}

#[test]
fn an_answer_that_was_not_compared_with_another_is_not_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.append(first(&run_id(1), new_run("lamp"), Vec::new())).wait().unwrap();
    let give = |name: &str, compared| store.approvals().answer(answer(name, compared)).wait();
    assert_eq!(give("ada", 0).unwrap(), AnswerEffect::Recorded);
    assert!(matches!(give("bob", 0), Err(StoreError::Conflict { .. })));
    assert_eq!(give("bob", 1).unwrap(), AnswerEffect::Recorded);
    assert_eq!(give("bob", 2).unwrap(), AnswerEffect::AlreadyRecorded);
}
